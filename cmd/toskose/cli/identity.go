package cli

import (
	"os"
	"os/user"
	"strings"

	"github.com/spf13/cobra"
)

// Identity returns USER@HOST for this process.
func Identity() string {
	name, host := "somebody", "somewhere"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return name + "@" + host
}

// Line returns a command with its arguments but without its flags, for display.
func Line(cmd *cobra.Command, args []string) string {
	return strings.Join(append([]string{cmd.CommandPath()}, args...), " ")
}

// StealLock registers --steal-lock.
func StealLock(cmd *cobra.Command, steal *bool) {
	cmd.Flags().BoolVar(steal, "steal-lock", false, "take the application's lock over from a command that hangs")
}
