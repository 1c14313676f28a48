package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/tosca"
)

// inputFlags are the flags that set a topology's inputs.
type inputFlags struct {
	pairs []string
	file  string
}

func (f *inputFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringArrayVarP(&f.pairs, "input", "i", nil, "set a topology input, as `NAME=VALUE`, or as NAME=@FILE to what a file holds, without its last line end, and to show it nowhere (@@ begins a value with @); may be repeated, and overrides --inputs")
	cmd.Flags().StringVar(&f.file, "inputs", "", "`FILE` that sets topology inputs, in YAML or JSON")
}

func (f *inputFlags) options() (tosca.Options, error) {
	inputs, err := parseInputs(f.pairs)
	if err != nil {
		return tosca.Options{}, err
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
			return nil, usageError{errors.New("--input has a value without a name: it must be NAME=VALUE")}
		case !ok:
			return nil, usageError{fmt.Errorf("--input %q is not NAME=VALUE", pair)}
		}
		if _, twice := inputs[name]; twice {
			return nil, usageError{errors.New("--input " + name + " is given twice")}
		}
		file, isFile := strings.CutPrefix(value, "@")
		if !isFile || strings.HasPrefix(file, "@") {
			inputs[name] = file
			continue
		}
		secret, err := readSecret(file)
		if err != nil {
			return nil, unopenedError{fmt.Errorf("cannot read the input %q: %w", name, err)}
		}
		inputs[name] = secret
	}
	return inputs, nil
}

// readSecret reads the value of an input. The end of its last line is the editor's.
func readSecret(file string) (tosca.Secret, error) {
	data, err := readInputs(file)
	switch {
	case err != nil:
		return "", err
	case len(data) > maxSource:
		return "", fmt.Errorf("%q has more than %d MiB", file, maxSource>>20)
	case !utf8.Valid(data):
		return "", fmt.Errorf("%q is not text in UTF-8", file)
	}
	return tosca.Secret(strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")), nil
}
