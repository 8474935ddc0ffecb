package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAudit wants the audit that melforge carries to run without our Python
// package, and its exit codes. What it finds is tested in Python.
func TestAudit(t *testing.T) {
	if _, err := findPython(); err != nil {
		t.Skip(err)
	}
	tmp := t.TempDir()
	env := []string{"PYTHONPATH=", "TMPDIR=" + tmp}
	script := filepath.Join(t.TempDir(), "train.py")
	if err := os.WriteFile(script, []byte("loader = DataLoader(data)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := runEnv(t, env, "audit", script, "--scan", "--json")
	var report struct {
		Type     string `json:"message_type"`
		Findings []struct {
			File, What string
			Line       int
		}
	}
	if err := json.Unmarshal([]byte(o.out), &report); err != nil || o.code != exitDone || report.Type != "audit" || len(report.Findings) != 1 ||
		report.Findings[0].Line != 1 || report.Findings[0].File != script || !strings.Contains(report.Findings[0].What, "num_workers") {
		t.Errorf("exit %d, %v: %s%s", o.code, err, o.out, o.stderr)
	}
	if o := runEnv(t, env, "audit", "no-such-script.py"); o.code != exitUsage || !strings.Contains(o.stderr, "is not there") {
		t.Errorf("without a script: exit %d: %s", o.code, o.stderr)
	}
	for _, args := range [][]string{{"audit"}, {"audit", script, script}, {"audit", "--", script}, {"audit", script, "--steps", "many"}} {
		if o := runEnv(t, env, args...); o.code != exitUsage {
			t.Errorf("%v: exit %d: %s", args, o.code, o.stderr)
		}
	}
	if o := runEnv(t, append(env, "PATH="), "audit", script); o.code != exitFailed || !strings.Contains(o.stderr, "activate the environment") {
		t.Errorf("without a Python: exit %d: %s", o.code, o.stderr)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
