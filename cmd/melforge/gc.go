package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/melforge/melforge/cmd/internal/terminal"
	"github.com/melforge/melforge/datasets"
)

func (a *app) gcCommand() *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use: "gc DIR", Short: "Remove files that the dataset no longer names", Args: terminal.OneArg("dataset's folder"),
		Long: `Removes wavs, shards and old manifests that dataset.json and the manifest do not
name any more, and what interrupted runs left behind. Files that melforge did
not make are left alone.`,
		Example: `  melforge gc dataset --dry-run
  melforge gc dataset`,
		RunE: func(_ *cobra.Command, args []string) error { return a.gc(args[0], dryRun) },
	}
	cmd.Flags().BoolVarP(&dryRun, "dry-run", "n", false, "list the files and remove nothing")
	return cmd
}

func (a *app) gc(dir string, dryRun bool) (err error) {
	f := datasets.At(dir)
	if _, err := f.MustLoad(); err != nil {
		return err
	}
	if err := f.Prepare(); err != nil {
		return err
	}
	lock, err := f.Lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	garbage, err := f.FindGarbage()
	if err != nil {
		return err
	}
	var bytes int64
	for _, g := range garbage {
		bytes += g.Bytes
		if dryRun {
			a.ui.Message("garbage", g, g.File+"\n")
		}
	}
	verb := "removed"
	if dryRun {
		verb = "would remove"
	} else if err := f.Remove(garbage); err != nil {
		return err
	}
	a.ui.Message("gc", map[string]any{"files": len(garbage), "bytes": bytes, "dry_run": dryRun},
		fmt.Sprintf("%s: %s %s files, %s\n", dir, verb, count(len(garbage)), size(bytes)))
	return nil
}
