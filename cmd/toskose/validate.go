package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/diag/report"
)

const validateHelp = `Say everything that is wrong with a TOSCA document, each with file, line, column
and a stable code: for people with the line it is about, or for machines as JSON
or SARIF 2.1.0.

FILE is a .csar, .zip, .tar or .tar.gz, an unpacked directory, or a service
template, of any types. Warnings here, and refused by packaging, are a required
input without a value, a file of types alone, what is left to be chosen or
substituted, and nodes that are none of TosKer's containers, components and
volumes.

It exits with 0 when the document is valid, also with warnings, with 1 when it is
not, and with 2 when FILE could not be opened.`

func newValidate(env environment) *cobra.Command {
	var inputs inputFlags
	var format string
	cmd := &cobra.Command{
		Use:   "validate [OPTIONS] FILE",
		Short: "Say everything that is wrong with a TOSCA document",
		Long:  validateHelp,
		Example: `  toskose validate thinking.csar
  toskose validate -i api_port=9090 examples/thinking
  toskose validate --format sarif thinking.csar >thinking.sarif`,
		Args:                  args(1, 1),
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			print := reportFormats(env)[format]
			if print == nil {
				return usageError{fmt.Errorf("--format %q is not one of text, json, sarif", format)}
			}
			doc, err := read(cmd.Context(), &inputs, args[0])
			if err != nil {
				return err
			}
			defer doc.Close()
			doc.unpack()
			if err := print(env.out, doc.list, doc.opts); err != nil || !doc.list.HasErrors() {
				return err
			}
			return errInvalid
		},
	}
	inputs.register(cmd)
	cmd.Flags().StringVar(&format, "format", "text", "text, json or sarif")
	return cmd
}

func reportFormats(env environment) map[string]func(io.Writer, diag.List, report.Options) error {
	return map[string]func(io.Writer, diag.List, report.Options) error{
		"json": report.JSON, "sarif": report.SARIF,
		"text": func(w io.Writer, list diag.List, opts report.Options) error {
			opts.Colour = env.colour(env.outTerminal)
			if err := report.Text(w, list, opts); err != nil {
				return err
			}
			_, err := fmt.Fprintln(w, report.Summary(opts.Subject, list))
			return err
		},
	}
}
