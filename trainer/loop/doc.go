// Package loop trains a model from batches: steps with exact accumulation over
// micro-batches, evaluation and early stopping, checkpoints that a killed run
// goes on from to the identical next loss, and for every step how long it
// waited for data.
package loop
