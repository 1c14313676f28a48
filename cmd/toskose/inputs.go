package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/tosca"
)

// inputFlags are the flags that set a topology's inputs.
type inputFlags struct {
	pairs []string
	file  string
}

func (f *inputFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringArrayVarP(&f.pairs, "input", "i", nil, "set a topology input, as `NAME=VALUE`, or as NAME=@FILE to the content of a file without its last line end, which is then never shown (@@ begins a value with @); may be repeated, and overrides --inputs")
	cmd.Flags().StringVar(&f.file, "inputs", "", "`FILE` that sets topology inputs, in YAML or JSON")
}

func (f *inputFlags) options() (tosca.Options, error) {
	inputs, err := cli.Inputs(f.pairs)
	if err != nil {
		return tosca.Options{}, err
	}
	opts := tosca.Options{Inputs: inputs}
	if f.file != "" {
		data, err := cli.ReadFile(f.file)
		if err != nil {
			return tosca.Options{}, cli.Unopened(fmt.Errorf("cannot read the inputs: %w", err))
		}
		opts.InputFile = &tosca.InputFile{Name: f.file, Data: data}
	}
	return opts, nil
}
