package packager

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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
		got, err := splitWords(command)
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("%q gives %q, %v; want %q", command, got, err, want)
		}
	}
	for _, open := range []string{`"a`, `'a`, `a\`} {
		if got, err := splitWords(open); err == nil {
			t.Errorf("%q gives %q", open, got)
		}
	}
}

func TestACommandSurvivesSupervisorsComments(t *testing.T) {
	t.Parallel()
	if got, want := command("/bin/sh", "/a b/100% ;x#.sh"), `/bin/sh /a\ b/100%%\ \;x\#.sh`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestJSONSurvivesSupervisorsComments(t *testing.T) {
	t.Parallel()
	got, err := jsonValue(map[string]string{"A": "50% ;b #c\n"})
	if want := `{"A":"50%% \u003bb \u0023c\n"}`; err != nil || got != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}
