// Command melforge-tts is the worker that speaks with neural voices. melforge
// starts it, feeds it and restarts it; it is not for the command line, but for
// --copy-espeak-data, with which a distribution is packed.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	jenny "github.com/amitybell/piper-voice-jenny"

	"github.com/melforge/melforge/cmd/melforge-tts/internal/speech"
	"github.com/melforge/melforge/tts/espeakdata"
	"github.com/melforge/melforge/worker"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "melforge-tts:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("melforge-tts", flag.ContinueOnError)
	cache := flags.String("cache", "", "folder for unpacked voices")
	data := flags.String("espeak-data", "", "folder of espeak-ng's data; looked for if empty")
	ship := flags.String("copy-espeak-data", "", "copy espeak-ng's data to this folder, for a distribution that carries it in share/espeak-ng-data, and exit")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := findData(*data)
	if err != nil {
		return err
	}
	if *ship != "" {
		return espeakdata.Copy(*ship, dir)
	}
	if *cache == "" {
		return errors.New("no --cache folder")
	}
	conn, err := worker.Inherited()
	if err != nil {
		return fmt.Errorf("melforge starts this program, nobody else: %w", err)
	}
	s := speech.New(speech.Config{Cache: *cache, EspeakData: dir, Archives: map[string]fs.FS{
		"jenny": jenny.Asset.FS,
	}})
	return worker.Serve(conn, s.Handle)
}

// findData returns espeak-ng's data: what is named and nothing else, or what
// was shipped with this program, or the system's.
func findData(named string) (string, error) {
	if named != "" {
		if err := espeakdata.Check(named); err != nil {
			return "", fmt.Errorf("--espeak-data: %w", err)
		}
		return named, nil
	}
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	bin := filepath.Dir(exe)
	return espeakdata.Find(filepath.Join(bin, "share", "espeak-ng-data"), filepath.Join(bin, "..", "share", "espeak-ng-data"))
}
