package live

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// The forms of output.
const (
	outputTable = "table"
	outputJSON  = "json"
)

// output is the flag that says in which form a command prints; it implements
// [pflag.Value].
type output string

func (o *output) String() string { return string(*o) }

func (*output) Type() string { return "FORM" }

func (o *output) Set(text string) error {
	if text != outputTable && text != outputJSON {
		return fmt.Errorf("it is %s or %s", outputTable, outputJSON)
	}
	*o = output(text)
	return nil
}

func (s *session) registerOutput(cmd *cobra.Command) {
	s.output = outputTable
	cmd.Flags().VarP(&s.output, "output", "o", "table, for people, or json, for programs")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{outputTable, outputJSON}, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
}

// show prints what the manager answered: as JSON, or as people read it.
func (s *session) show(answer any, people func(io.Writer)) error {
	if s.output == outputJSON {
		encoder := json.NewEncoder(s.streams.Out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(answer)
	}
	people(s.streams.Out)
	return nil
}
