// Package worker starts, feeds, watches and restarts native worker processes.
//
// Native code that can take a process down with it runs in a child that the
// parent can afford to lose. Parent and child talk over a socket pair: frames
// with an id, so that many calls are in flight at once. Process is one child;
// Supervisor keeps one alive and finds out which call killed it; Serve is the
// child's side.
package worker
