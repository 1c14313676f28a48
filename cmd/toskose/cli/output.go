package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// The forms of output.
const (
	OutputTable = "table"
	OutputJSON  = "json"
)

// Output is the flag that says in which form a command prints; it implements
// [pflag.Value].
type Output string

func (o *Output) String() string { return string(*o) }

// Type is what help calls a value.
func (*Output) Type() string { return "FORM" }

// Set sets the form.
func (o *Output) Set(text string) error {
	if text != OutputTable && text != OutputJSON {
		return fmt.Errorf("it is %s or %s", OutputTable, OutputJSON)
	}
	*o = Output(text)
	return nil
}

// Register adds the flag to a command.
func (o *Output) Register(cmd *cobra.Command) {
	*o = OutputTable
	cmd.Flags().VarP(o, "output", "o", "table, for people, or json, for programs")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{OutputTable, OutputJSON}, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
}

// Show prints an answer: as JSON, or as people read it.
func (o *Output) Show(w io.Writer, answer any, people func(io.Writer)) error {
	if *o == OutputJSON {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(answer)
	}
	people(w)
	return nil
}
