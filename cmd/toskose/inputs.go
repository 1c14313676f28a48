package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/tosca"
)

// inputFlags are the flags that set a topology's inputs.
type inputFlags struct {
	pairs []string
	file  string
}

func (f *inputFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringArrayVarP(&f.pairs, "input", "i", nil, "set a topology input, as `NAME=VALUE`; may be repeated, and overrides --inputs")
	cmd.Flags().StringVar(&f.file, "inputs", "", "`FILE` that sets topology inputs, in YAML or JSON")
}

func (f *inputFlags) options() (tosca.Options, error) {
	inputs, err := parseInputs(f.pairs)
	if err != nil {
		return tosca.Options{}, usageError{err}
	}
	opts := tosca.Options{Inputs: inputs}
	if f.file != "" {
		data, err := readInputs(f.file)
		if err != nil {
			return tosca.Options{}, unopenedError{fmt.Errorf("cannot read the inputs: %w", err)}
		}
		opts.InputFile = &tosca.InputFile{Name: f.file, Data: data}
	}
	return opts, nil
}

// readInputs reads a file of inputs. Of a file that is too large, it reads just
// enough for it to be refused.
func readInputs(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxSource+1))
}

func parseInputs(pairs []string) (map[string]any, error) {
	inputs := map[string]any{}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		switch {
		case ok && name == "": // the value may be a secret
			return nil, errors.New("--input has a value without a name: it must be NAME=VALUE")
		case !ok:
			return nil, fmt.Errorf("--input %q is not NAME=VALUE", pair)
		}
		if _, twice := inputs[name]; twice {
			return nil, errors.New("--input " + name + " is given twice")
		}
		inputs[name] = value
	}
	return inputs, nil
}
