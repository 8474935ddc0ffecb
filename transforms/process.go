package transforms

import (
	"fmt"
	"sync"

	"github.com/melforge/melforge/forge"
	"github.com/melforge/melforge/manifests"
	"github.com/melforge/melforge/mel"
	"github.com/melforge/melforge/tts"
)

// Host is what a process brings to the work: where its voices are and how much
// of the machine to use. It differs from machine to machine and therefore does
// not travel with the pipeline.
type Host struct {
	// Voices are the speech engines of this machine. The host closes them.
	Voices *tts.Set
	// Engine opens the mel engine for at most jobs clips at once.
	Engine func(e Engine, c mel.Config, jobs int) (mel.Engine, error)
	// Jobs is how many clips are worked on at once where the pipeline does
	// not say.
	Jobs int
}

// Engine says what is to compute the mels.
type Engine struct {
	Name    string // "auto", "cpu" or "cuda"
	Devices string // GPUs as in "0,1"; "" for all
	Level   int    // how much is tuned, 0 to 2
}

// Process is the one place where bundles of a process meet: the runner starts
// as many as it likes, and they share one forge with its pool and its engine.
type Process struct {
	host     Host
	progress forge.Progress

	mu     sync.Mutex
	forges map[forgeKey]*forge.Forge
	close  []func() error
	failed error
}

// forgeKey is what a forge depends on. A process normally sees one.
type forgeKey struct {
	engine Engine
	jobs   int
	mel    mel.Config
}

// process is set once, before the first pipeline runs.
var process = &Process{}

// Open prepares this process for the work. It must be called in every process
// that runs a pipeline, before beam.Init, and closed at its end.
func Open(h Host) *Process {
	process = &Process{host: h, forges: map[forgeKey]*forge.Forge{}}
	return process
}

// Progress is how far this process has come.
func (p *Process) Progress() forge.Snapshot { return p.progress.Now() }

// Err is the first error of a bundle of this process, as it was: runners only
// pass on its text, wrapped many times.
func (p *Process) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

func (p *Process) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed == nil {
		p.failed = err
	}
}

// Close ends the engines that this process opened.
func (p *Process) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var first error
	for _, c := range p.close {
		if err := c(); err != nil && first == nil {
			first = err
		}
	}
	p.close, p.forges = nil, map[forgeKey]*forge.Forge{}
	return first
}

// forge gives the process's forge for a plan, made on first use.
func (p *Process) forge(plan *manifests.Plan, engine Engine, jobs int) (*forge.Forge, error) {
	if jobs < 1 {
		jobs = max(1, p.host.Jobs)
	}
	key := forgeKey{engine: engine, jobs: jobs}
	if plan.Mel != nil {
		key.mel = *plan.Mel
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if f, ok := p.forges[key]; ok {
		return f, nil
	}
	if p.forges == nil {
		return nil, fmt.Errorf("transforms.Open was not called in this process")
	}
	var eng mel.Engine
	if plan.Mel != nil {
		var err error
		if eng, err = p.host.Engine(engine, *plan.Mel, jobs); err != nil {
			return nil, err
		}
		p.close = append(p.close, eng.Close)
	}
	f := forge.New(p.host.Voices, eng, jobs, &p.progress)
	p.forges[key] = f
	return f, nil
}
