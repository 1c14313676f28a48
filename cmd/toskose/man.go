package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/toskose/toskose/cmd/toskose/cli"
)

func newMan() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write manual pages of all commands",
		Long: `Write a manual page for each command into DIR, which is created if necessary. ` + "`man`" + `
finds pages in the folder man1 of a manual path.`,
		Example: "  toskose man man1",
		Args:    cli.Args(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil { //nolint:gosec // manual pages are for all users
				return err
			}
			epoch := time.Unix(0, 0).UTC() // pages of the same version are equal
			header := &doc.GenManHeader{Title: "TOSKOSE", Section: "1", Source: "toskose " + built().version, Manual: "Toskose", Date: &epoch}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return fmt.Errorf("cannot write the manual pages: %w", err)
			}
			return nil
		},
	}
}
