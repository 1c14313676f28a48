package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/graph"
)

const graphHelp = `Draw the topology of a TOSCA document: containers as boxes around their
components, with volumes, and arrows for connections and dependencies. The same
document always produces the same picture, byte for byte.

Protocols are drawn if there are at most four components; --protocols draws them
always, --protocols=false never.

Exit codes are those of ` + "`toskose validate`" + `. Problems are printed to standard error.`

func newGraph(env environment) *cobra.Command {
	var inputs inputFlags
	var format, output string
	var protocols bool
	cmd := &cobra.Command{
		Use:   "graph [OPTIONS] FILE",
		Short: "Draw the topology of a TOSCA document",
		Long:  graphHelp,
		Example: `  toskose graph -o thinking.svg thinking.csar
  toskose graph --format dot examples/thinking | dot -Tpdf >thinking.pdf
  toskose graph --format mermaid --protocols thinking.csar`,
		Args:                  cli.Args(1, 1),
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			draw := graph.Formats()[format]
			if draw == nil {
				return cli.Misuse(fmt.Errorf("--format %q is not one of svg, dot, mermaid", format))
			}
			doc, err := read(cmd.Context(), &inputs, args[0], withoutSecrets)
			if err != nil {
				return err
			}
			defer doc.Close()
			if err := doc.explain(env.err, env.colour(env.errTerminal)); err != nil {
				return err
			}
			if !cmd.Flags().Changed("protocols") {
				protocols = graph.Small(doc.app)
			}
			picture := draw(doc.app, graph.Options{Protocols: protocols})
			if output == "" {
				_, err = env.out.Write(picture)
				return err
			}
			if err := os.WriteFile(output, picture, 0o644); err != nil {
				return fmt.Errorf("cannot write the picture: %w", err)
			}
			return nil
		},
	}
	inputs.register(cmd)
	cmd.Flags().StringVar(&format, "format", "svg", "svg, dot or mermaid")
	cmd.Flags().StringVarP(&output, "output", "o", "", "`FILE` to write to (default standard output)")
	cmd.Flags().BoolVar(&protocols, "protocols", false, "draw the protocols (default if there are at most four components)")
	return cmd
}
