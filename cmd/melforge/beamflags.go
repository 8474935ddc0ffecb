package main

import (
	"flag"
	"fmt"

	"github.com/spf13/cobra"
)

// beamCommand is a help topic: the flags that go to Beam as they are.
func (a *app) beamCommand() *cobra.Command {
	return &cobra.Command{
		Use: "beam-flags", Short: "List the flags that are passed on to Beam and its runners", Args: cobra.NoArgs,
		Example: `  melforge run corpus.txt --out dataset --runner direct
  melforge run corpus.txt --out /shared/dataset --runner flink --endpoint host:8099 --environment_type EXTERNAL --environment_config host:50000`,
		RunE: func(*cobra.Command, []string) error {
			flag.VisitAll(func(f *flag.Flag) {
				a.ui.Message("flag", map[string]string{"name": f.Name, "usage": f.Usage, "default": f.DefValue},
					fmt.Sprintf("  --%-36s %s\n", f.Name, f.Usage))
			})
			return nil
		},
	}
}
