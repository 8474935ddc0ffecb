// Package bench measures melforge on the machine it runs on: the mel engines
// by themselves, and the whole way from wav files to a synced dataset, each
// beside what the machine does raw in the same run. Machines are noisy; only
// ratios of one run mean anything.
package bench
