//go:build !cgo

package main

// hasXLA says whether this build can load PJRT plugins.
const hasXLA = false
