package main

import (
	"strconv"
	"strings"

	"github.com/melforge/melforge/cmd/internal/terminal"
)

// rejectLimit is --max-rejects: a number of lines or a part of them all.
type rejectLimit struct {
	n       float64
	percent bool
}

func parseLimit(s string) (rejectLimit, error) {
	num, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	n, err := strconv.ParseFloat(num, 64)
	if err != nil || n < 0 || percent && n > 100 || !percent && n != float64(int64(n)) {
		return rejectLimit{}, terminal.Usagef("--max-rejects %s: want a number of lines, or a part as in 5%%", s)
	}
	return rejectLimit{n, percent}, nil
}

func (l rejectLimit) exceeded(rejects, lines int) bool {
	if l.percent {
		return float64(rejects)*100 > l.n*float64(lines)
	}
	return float64(rejects) > l.n
}
