// Package manifests holds the JSON contracts: the plan, the manifest, the
// rejects and the dataset's index. FORMAT.md describes what they look like on
// disk; this package is the only place that encodes and decodes them.
package manifests
