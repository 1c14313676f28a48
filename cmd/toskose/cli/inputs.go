package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/toskose/toskose/tosca"
)

// MaxFile is the maximum size of a file that a command reads into memory.
const MaxFile = 32 << 20

// UnopenedError is an input that cannot be opened.
type UnopenedError struct{ err error }

// Unopened returns an error that is an input that cannot be opened.
func Unopened(err error) error { return UnopenedError{err} }

func (e UnopenedError) Error() string { return e.err.Error() }

func (e UnopenedError) Unwrap() error { return e.err }

// ReadFile reads a file. Of one that is too large, it reads just enough for it to
// be refused.
func ReadFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxFile+1))
}

// Inputs parses the arguments of --input: NAME=VALUE, or NAME=@FILE for the content of a file. A
// value is a string, or a tosca.Secret if it comes from a file.
func Inputs(pairs []string) (map[string]any, error) {
	inputs := map[string]any{}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		switch {
		case ok && name == "": // the value may be a secret
			return nil, Misuse(errors.New("--input has a value without a name: it must be NAME=VALUE"))
		case !ok:
			return nil, Misuse(fmt.Errorf("--input %q is not NAME=VALUE", pair))
		}
		if _, twice := inputs[name]; twice {
			return nil, Misuse(errors.New("--input " + name + " is given twice"))
		}
		file, isFile := strings.CutPrefix(value, "@")
		if !isFile || strings.HasPrefix(file, "@") {
			inputs[name] = file
			continue
		}
		secret, err := readSecret(file)
		if err != nil {
			return nil, Unopened(fmt.Errorf("cannot read the input %q: %w", name, err))
		}
		inputs[name] = secret
	}
	return inputs, nil
}

// readSecret reads the value of an input. The end of its last line is the editor's.
func readSecret(file string) (tosca.Secret, error) {
	data, err := ReadFile(file)
	switch {
	case err != nil:
		return "", err
	case len(data) > MaxFile:
		return "", fmt.Errorf("%q has more than %d MiB", file, MaxFile>>20)
	case !utf8.Valid(data):
		return "", fmt.Errorf("%q is not text in UTF-8", file)
	}
	return tosca.Secret(strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")), nil
}
