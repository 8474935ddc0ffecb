package datasets

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"

	"github.com/melforge/melforge/commit"
	"github.com/melforge/melforge/manifests"
)

func planFile() string { return path.Join(workDir, "plan.json") }

// SavePlan puts a plan where the workers find it.
func (f Folder) SavePlan(p *manifests.Plan) error {
	return commit.File("plan", f.Path(planFile()), func(w io.Writer) error { return json.NewEncoder(w).Encode(p) })
}

// LoadPlan reads the plan that is being carried out.
func (f Folder) LoadPlan() (*manifests.Plan, error) {
	name := f.Path(planFile())
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("no plan: %w (the workers must see the same folder as the planner)", err)
	}
	p := new(manifests.Plan)
	if err := json.Unmarshal(b, p); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if p.Version != manifests.PlanVersion {
		return nil, fmt.Errorf("%s: plan version %d, this melforge knows %d", name, p.Version, manifests.PlanVersion)
	}
	return p, nil
}

// Finish removes the plan and the results that the index has taken up.
func (f Folder) Finish() error {
	for _, dir := range []string{resultsDir, scratchDir} {
		if err := os.RemoveAll(f.Path(dir)); err != nil {
			return err
		}
	}
	for _, name := range []string{planFile(), ItemsFile()} {
		if err := os.Remove(f.Path(name)); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}
