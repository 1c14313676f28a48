package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/packager/config"
)

func TestACommandIsSplitAsAShellWould(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{
		"":                        nil,
		"  a  b ":                 {"a", "b"},
		`sh -c 'echo "$x"'`:       {"sh", "-c", `echo "$x"`},
		`a\ b "c d" ''`:           {"a b", "c d", ""},
		`"a \"b\" \x"`:            {`a "b" \x`},
		`--flag="v w"x`:           {"--flag=v wx"},
		"line one\n\tline\\\ntwo": {"line", "one", "line\ntwo"},
	}
	for command, want := range tests {
		got, err := config.SplitWords(command)
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("%q gives %q, %v; want %q", command, got, err, want)
		}
	}
	for _, open := range []string{`"a`, `'a`, `a\`} {
		if got, err := config.SplitWords(open); err == nil {
			t.Errorf("%q gives %q", open, got)
		}
	}
}
