package main

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) voicesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "voices [PREFIX]", Short: "List the voices that can speak here, with their licences",
		Args: cobra.MaximumNArgs(1),
		Long: `Lists every voice of every engine that this machine has, with its language and
licence. PREFIX restricts the list.`,
		Example: `  melforge voices
  melforge voices espeak/en
  melforge voices --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			prefix := ""
			if len(args) > 0 {
				prefix = args[0]
			}
			set := locate().voices(a.ui.log, runtime.NumCPU())
			defer set.Close()
			infos, err := set.Voices(cmd.Context())
			for _, v := range infos {
				if strings.HasPrefix(v.Voice, prefix) {
					a.ui.message("voice", v, fmt.Sprintf("%-28s %-8s %s\n", v.Voice, v.Lang, v.License))
				}
			}
			return err
		},
	}
}
