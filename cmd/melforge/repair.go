package main

import (
	"fmt"

	"github.com/melforge/melforge/datasets"
)

// mend removes what verification finds damaged, so that the run that follows
// makes it again: a file that is missing is a file that is not done.
func (a *app) mend(j *job) error {
	d, _, err := j.folder.Load()
	if err != nil || d == nil {
		return err // nothing to mend, or nothing to mend it by
	}
	a.ui.Status("repair: checking every file")
	r, err := j.folder.Verify(datasets.VerifyOptions{ReadData: true, Problem: func(p datasets.Problem) {
		a.ui.Message("problem", p, fmt.Sprintf("repair: %s: %s\n", p.File, p.Detail))
	}})
	if err != nil {
		return err
	}
	return j.folder.RemoveDamaged(d, r)
}
