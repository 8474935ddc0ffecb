//go:build cgo

package main

import _ "github.com/gomlx/go-xla/compute/xla" // registers "xla"; it needs cgo to load plugins

// hasXLA says whether this build can load PJRT plugins.
const hasXLA = true
