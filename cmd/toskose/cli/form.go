package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// Form is the flag for the output format of a command; it implements [pflag.Value].
type Form string

// The forms.
const (
	FormTable Form = "table"
	FormJSON  Form = "json"
)

func (f *Form) String() string { return string(*f) }

// Type is how the help calls the flag's value.
func (*Form) Type() string { return "FORM" }

// Set rejects unknown forms.
func (f *Form) Set(text string) error {
	if form := Form(text); form != FormTable && form != FormJSON {
		return fmt.Errorf("it is %s or %s", FormTable, FormJSON)
	}
	*f = Form(text)
	return nil
}

// Register adds the flag to a command.
func (f *Form) Register(cmd *cobra.Command) {
	*f = FormTable
	cmd.Flags().VarP(f, "output", "o", "table, for people, or json, for programs")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{string(FormTable), string(FormJSON)}, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
}

// Show prints an answer: as JSON, or as people read it.
func (f *Form) Show(out io.Writer, answer any, people func(io.Writer)) error {
	if *f == FormJSON {
		return WriteJSON(out, answer, "  ")
	}
	people(out)
	return nil
}
