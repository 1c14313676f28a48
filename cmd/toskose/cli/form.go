package cli

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"
)

// Form is the flag for the output format of a command; it implements [pflag.Value].
type Form string

// The forms.
const (
	FormTable Form = "table"
	FormWide  Form = "wide" // a table with more columns, where there are more
	FormJSON  Form = "json"
	FormYAML  Form = "yaml"
)

var forms = []string{string(FormTable), string(FormWide), string(FormJSON), string(FormYAML)}

func (f *Form) String() string { return string(*f) }

// Type is how the help calls the flag's value.
func (*Form) Type() string { return "FORM" }

// Set rejects unknown forms.
func (f *Form) Set(text string) error {
	if !slices.Contains(forms, text) {
		return fmt.Errorf("it is one of %s", strings.Join(forms, ", "))
	}
	*f = Form(text)
	return nil
}

// Register adds the flag to a command.
func (f *Form) Register(cmd *cobra.Command) {
	*f = FormTable
	cmd.Flags().VarP(f, "output", "o", "table or wide, for people; json or yaml, for programs")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(forms, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
}

// RegisterForPrograms adds the flag to a command without a table.
func (f *Form) RegisterForPrograms(cmd *cobra.Command) {
	f.Register(cmd)
	*f = FormJSON
	flag := cmd.Flags().Lookup("output")
	flag.Usage, flag.DefValue = "json or yaml", string(FormJSON)
}

// ForPrograms reports whether the output is for programs.
func (f Form) ForPrograms() bool { return f == FormJSON || f == FormYAML }

// Show prints an answer: as JSON or YAML, or as people read it.
func (f *Form) Show(out io.Writer, answer any, people func(io.Writer)) error {
	switch *f {
	case FormJSON:
		return WriteJSON(out, answer, "  ")
	case FormYAML:
		return writeYAML(out, answer)
	case FormTable, FormWide:
		if people == nil { // there is no table
			return WriteJSON(out, answer, "  ")
		}
		people(out)
	}
	return nil
}

// ShowNext prints one of several answers: as a line of JSON, or a document of YAML. The form is for programs.
func (f *Form) ShowNext(out io.Writer, answer any) error {
	if *f == FormJSON {
		return WriteJSON(out, answer, "")
	}
	if _, err := io.WriteString(out, "---\n"); err != nil {
		return err
	}
	return writeYAML(out, answer)
}

// writeYAML writes a value as YAML, with the names and the order that it has as JSON.
func writeYAML(w io.Writer, value any) error {
	var text bytes.Buffer
	if err := WriteJSON(&text, value, ""); err != nil {
		return err
	}
	return jsonAsYAML(w, text.Bytes())
}

func jsonAsYAML(w io.Writer, document []byte) error {
	var node yaml.Node
	if err := yaml.Unmarshal(document, &node); err != nil {
		return err
	}
	asBlocks(&node)
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	if err := encoder.Encode(&node); err != nil {
		return err
	}
	return encoder.Close()
}

// asBlocks removes the style of JSON from a node and the nodes in it.
func asBlocks(n *yaml.Node) {
	n.Style = 0
	for _, child := range n.Content {
		asBlocks(child)
	}
}
