package config

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestExpansionIsPythons(t *testing.T) {
	t.Parallel()
	names := map[string]any{"a": "A", "n": 7, "x(y)": "nested", "neg": -7}
	lookup := func(name string) (any, bool) { v, ok := names[name]; return v, ok }
	for text, want := range map[string]string{
		"":                    "",
		"plain":               "plain",
		"%%":                  "%",
		"%%(a)s":              "%(a)s",
		"%(a)s-%(a)s":         "A-A",
		"%(n)s %(n)d %(n)03d": "7 7 007",
		"%(n)-3d|%(n)3d":      "7  |  7",
		"%(neg)04d":           "-007",
		"%(n)x%(n)X%(n)o":     "777",
		"%(a)5s|%(a)-5s|":     "    A|A    |",
		"%(a)05s":             "    A",
		"%(x(y))s":            "nested",
		"%(n)i%(n)u":          "77",
		"%(n)+d":              "+7",
		"%(a).0s":             "",
	} {
		if got, err := expand(text, lookup); err != nil || got != want {
			t.Errorf("expand(%q) = %q, %v; want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"100%":         "stands alone",
		"%s":           "stands alone",
		"%(a":          "stands alone",
		"% (a)s":       "stands alone",
		"%(a)":         "lacks the letter",
		"%(a)!":        "lacks the letter",
		"%(a)r":        "lacks the letter",
		"%(a)d":        "needs a number",
		"%(b)s":        "unknown here",
		"%(ENV_B)s":    "the environment has no B",
		"%(a)999999s":  "too large",
		"%(a).99999s":  "too large",
		"%(n)1.2.3d":   "too large",
		"%(n)9999999d": "too large",
	} {
		got, err := expand(text, lookup)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("expand(%q) = %q, %v; want an error with %q", text, got, err, want)
		}
	}
}

func TestCommandsAreSplitAsShellWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                     nil,
		" \t\n ":               nil,
		"a b\tc\nd":            {"a", "b", "c", "d"},
		`"a b" 'c d' e\ f`:     {"a b", "c d", "e f"},
		`a"b c"'d e'f`:         {"ab cd ef"},
		`"" ''`:                {"", ""},
		`"\"\\\$\a"`:           {`"\\$\a`},
		`'\'`:                  {`\`},
		`# a`:                  {"#", "a"},
		"\xff\xfe é":           {"\xff\xfe", "é"},
		`sh -c 'echo "$HOME"'`: {"sh", "-c", `echo "$HOME"`},
	} {
		if got, err := words(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("words(%q) = %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{`"a`, `'a`, `a\`, `"a\`} {
		if got, err := words(text); err == nil {
			t.Errorf("words(%q) = %q, want an error", text, got)
		}
	}
}

func TestEnvironmentIsReadBySupervisorsRules(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]map[string]string{
		"":                           {},
		`A=b`:                        {"A": "b"},
		`A="b,c", B='d "e" '`:        {"A": "b,c", "B": `d "e" `},
		`A="",B=''`:                  {"A": "", "B": ""},
		`A="b",`:                     {"A": "b"},
		"A=b,\n  B=c":                {"A": "b", "B": "c"},
		`A=/x/y.z-1+2:3(4)`:          {"A": "/x/y.z-1+2:3(4)"},
		`A = "b" , B = "c"`:          {"A": "b", "B": "c"},
		`A=b"c`:                      {"A": `b"c`},
		`A='"b"'`:                    {"A": "b"},
		`A="\n"`:                     {"A": `\n`},
		"A=b # a comment, C=d\n,B=c": {"A": "b", "B": "c"},
		`A=b,A=c`:                    {"A": "c"},
		`A="é"`:                      {"A": "é"},
	} {
		got, odd, err := pairs(text)
		if err != nil || len(odd) != 0 || !maps.Equal(got, want) {
			t.Errorf("pairs(%q) = %q, %v, %v; want %q", text, got, odd, err, want)
		}
	}
	for _, text := range []string{"A", "A=", "=b", "A=b,B", `A="b`, "A=b c=d", "A=user@host", `"A"=b`} {
		if got, _, err := pairs(text); err == nil {
			t.Errorf("pairs(%q) = %q, want an error", text, got)
		}
	}
	if got, odd, err := pairs("A=b;B=c"); err != nil || len(odd) != 1 || odd[0] != "A" || got["B"] != "c" {
		t.Errorf("pairs with a semicolon: %v, %v, %v", got, odd, err)
	}
}

func TestCommentsAreCutAsByConfigParser(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"a = b":         "a = b",
		"a = b;c":       "a = b;c",
		"a = b ;c":      "a = b ",
		"a = b #c ;d":   "a = b ",
		"a = b ;c #d":   "a = b ",
		"a;b ;c #d":     "a;b ;c ", // the first round decides
		"; all":         "",
		"   # all":      "",
		"a =\u00a0;b":   "a =\u00a0",
		";":             "",
		"a = \"b # c\"": "a = \"b ",
	} {
		if got, _ := cutComment(line); got != want {
			t.Errorf("cutComment(%q) = %q, want %q", line, got, want)
		}
	}
}

// FuzzExpand: text expands or is an error, and text without a % is itself.
func FuzzExpand(f *testing.F) {
	for _, seed := range []string{"%(a)s", "%%", "%(n)03d", "%(", "%(a)99s", "100%"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := expand(text, func(name string) (any, bool) {
			if name == "n" {
				return 7, true
			}
			return name, name == "a"
		})
		if err != nil && got != "" {
			t.Fatalf("both %q and %v", got, err)
		}
		if !strings.Contains(text, "%") && (err != nil || got != text) {
			t.Fatalf("%q became %q, %v", text, got, err)
		}
		if escaped, err := expand(strings.ReplaceAll(text, "%", "%%"), nil); err != nil || escaped != text {
			t.Fatalf("%q escaped became %q, %v", text, escaped, err)
		}
	})
}
