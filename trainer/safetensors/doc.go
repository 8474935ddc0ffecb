// Package safetensors reads and writes the files in which Hugging Face keeps
// tensors: the length of a header in eight bytes, the header in JSON, and the
// bytes of the tensors, little-endian and one after the other. The header says
// each tensor's type, shape and place, and has room for metadata.
//
// The package moves bytes: what they mean is its users' matter.
package safetensors
