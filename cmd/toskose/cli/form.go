package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
)

// Form is the flag that says in which form a command prints; it implements
// [pflag.Value].
type Form string

// The forms of output.
const (
	Table Form = "table"
	JSON  Form = "json"
)

var forms = []string{string(Table), string(JSON)}

func (f *Form) String() string { return string(*f) }

// Type is what a form is called where a command explains its flags.
func (*Form) Type() string { return "FORM" }

// Set implements [pflag.Value].
func (f *Form) Set(text string) error {
	if !slices.Contains(forms, text) {
		return fmt.Errorf("it is %s or %s", Table, JSON)
	}
	*f = Form(text)
	return nil
}

// Register adds the flag to a command, whose form is a table unless it says otherwise.
func (f *Form) Register(cmd *cobra.Command) {
	*f = Table
	cmd.Flags().VarP(f, "output", "o", "table, for people, or json, for programs")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(forms, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
}

// Print prints an answer as JSON, or as people read it.
func (f *Form) Print(out io.Writer, answer any, people func(io.Writer)) error {
	if *f == JSON {
		encoder := json.NewEncoder(out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(answer)
	}
	people(out)
	return nil
}
