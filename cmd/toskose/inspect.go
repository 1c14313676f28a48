package main

import (
	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/tosca"
)

func newInspect(env environment) *cobra.Command {
	var inputs inputFlags
	var asJSON bool
	var form cli.Form
	cmd := &cobra.Command{
		Use:   "inspect [OPTIONS] FILE",
		Short: "Print the application that a TOSCA document describes",
		Long: `Print the application that a TOSCA document describes, with everything resolved:
types, inherited operations, functions and defaults. Documents with the same
meaning print the same. Inputs without a value and everything that depends on
them are left out, and so are secrets: values from -i NAME=@FILE, and values of
inputs that have the name of a secret.

Exit codes are those of ` + "`toskose validate`" + `. Problems are printed to standard error.`,
		Example:               "  toskose inspect thinking.csar\n  toskose inspect -o json examples/thinking | jq .components",
		Args:                  cli.Args(1, 1),
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			doc, err := read(cmd.Context(), &inputs, args[0], withoutSecrets)
			if err != nil {
				return err
			}
			defer doc.Close()
			if err := doc.explain(env.err, env.colour(env.errTerminal)); err != nil {
				return err
			}
			if form == cli.FormYAML {
				return form.Show(env.out, doc.app, nil)
			}
			text := tosca.Describe(doc.app)
			if asJSON || form == cli.FormJSON {
				if text, err = spec.Encode(doc.app); err != nil {
					return err
				}
			}
			_, err = env.out.Write(text)
			return err
		},
	}
	inputs.register(cmd)
	form.Register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	_ = cmd.Flags().MarkHidden("json") // the spelling of earlier releases
	cmd.MarkFlagsMutuallyExclusive("json", "output")
	return cmd
}
