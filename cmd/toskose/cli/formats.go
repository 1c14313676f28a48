package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Formats is the flag for the output format of a command that has formats of its own beside JSON and YAML; it implements
// [pflag.Value].
type Formats struct {
	Value string
	all   []string
}

func (f *Formats) String() string { return f.Value }

// Type is how the help calls the flag's value.
func (*Formats) Type() string { return "FORMAT" }

// Set rejects unknown formats. The tables of other commands are the first format here.
func (f *Formats) Set(text string) error {
	switch {
	case slices.Contains(f.all, text):
		f.Value = text
	case text == string(FormTable) || text == string(FormWide):
		f.Value = f.all[0]
	default:
		return fmt.Errorf("it is one of %s", strings.Join(f.all, ", "))
	}
	return nil
}

// Register adds the flag to a command. The first format is the default.
func (f *Formats) Register(cmd *cobra.Command, all ...string) {
	f.Value, f.all = all[0], all
	usage := strings.Join(all[:len(all)-1], ", ") + " or " + all[len(all)-1]
	cmd.Flags().VarP(f, "output", "o", usage)
	cmd.Flags().Var(f, "format", usage)
	_ = cmd.Flags().MarkHidden("format") // the spelling of earlier releases
	cmd.MarkFlagsMutuallyExclusive("format", "output")
	for _, flag := range []string{"output", "format"} {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(all, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	}
}

// AsYAML returns a JSON document as YAML, with the same names in the same order.
func AsYAML(document []byte) ([]byte, error) {
	var out strings.Builder
	err := jsonAsYAML(&out, document)
	return []byte(out.String()), err
}
