package main

import (
	"bytes"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/diag/report"
)

const validateHelp = `Report every problem of a TOSCA document, with file, line, column and a stable
code: for people with the line in question, or for machines as JSON or SARIF
2.1.0.

FILE is a .csar, .zip, .tar or .tar.gz, an unpacked directory, or a service
template, of any types. Some problems are warnings here and errors when packaging:
a required input without a value, a file that only defines types, nodes that are
left to be selected or substituted, and nodes other than TosKer's containers,
components and volumes. In a document that has nodes of TosKer's, problems that
affect none of them, such as those of outputs and workflows, are warnings as well.
--strict turns warnings into errors.

CONFIG_PATH is a toskose.yml for the application; without it, the toskose.yml beside
the document, if there is one. It is checked, too, and what it decides is not warned of.

The exit code is 0 if the document is valid, even with warnings, 1 if it is not,
and 2 if FILE cannot be opened.`

func newValidate(env environment) *cobra.Command {
	var inputs inputFlags
	var format cli.Formats
	var strict bool
	cmd := &cobra.Command{
		Use:   "validate [OPTIONS] FILE [CONFIG_PATH]",
		Short: "Report every problem of a TOSCA document",
		Long:  validateHelp,
		Example: `  toskose validate thinking.csar
  toskose validate -i api_port=9090 examples/thinking
  toskose validate thinking.csar toskose.yml
  toskose validate -o sarif thinking.csar >thinking.sarif`,
		Args:                  cli.Args(1, 2),
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			doc, err := read(cmd.Context(), &inputs, args[0], withSecrets, settingsOf(args)...)
			if err != nil {
				return err
			}
			defer doc.Close()
			doc.unpack()
			if strict {
				for i := range doc.list {
					doc.list[i].Severity = diag.Error
				}
			}
			if err := reportFormats(env)[format.Value](env.out, doc.list, doc.opts); err != nil {
				return err
			}
			if doc.list.HasErrors() || doc.app == nil {
				return errInvalid
			}
			target := packager.TargetOf(doc.app)
			_, err = doc.conf.check(&target)
			return err
		},
	}
	inputs.register(cmd)
	format.Register(cmd, "text", "json", "yaml", "sarif")
	cmd.Flags().BoolVar(&strict, "strict", false, "treat warnings as errors")
	return cmd
}

func reportFormats(env environment) map[string]func(io.Writer, diag.List, report.Options) error {
	return map[string]func(io.Writer, diag.List, report.Options) error{
		"json": report.JSON, "sarif": report.SARIF,
		"yaml": func(w io.Writer, list diag.List, opts report.Options) error {
			var document bytes.Buffer
			if err := report.JSON(&document, list, opts); err != nil {
				return err
			}
			text, err := cli.AsYAML(document.Bytes())
			if err != nil {
				return err
			}
			_, err = w.Write(text)
			return err
		},
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
