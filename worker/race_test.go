//go:build race

package worker

// raceDetector: its shadow memory counts against a memory limit.
const raceDetector = true
