// Package trainer feeds a training loop from a finished dataset: no speech, no
// wav and no mel is computed here, only read.
//
// A Dataset gives any clip by index, id or key. A Loader gives batches, in an
// order that is a function of seed and epoch alone: the number of workers does
// not change it, ranks share it without losing or doubling a clip, and a small
// State resumes it after any batch. The order, the masks of SpecAugment and the
// State are those of the Python package melforge, so that a run can be compared
// with one in PyTorch.
package trainer
