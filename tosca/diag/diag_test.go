package diag_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/tosca/diag"
)

func at(file string, line, column int) diag.Position {
	return diag.Position{File: file, Line: line, Column: column}
}

func TestAListPrintsSortedAndSaysNothingTwice(t *testing.T) {
	t.Parallel()
	var c diag.Collector
	c.Errorf(at("b.yaml", 1, 1), "X-1", "later file")
	c.Unknown(at("a.yaml", 14, 9), "X-2", "web", []string{"backend"}, "component %q: requirement %q names %q, which is not in the topology", "api", "host", "web")
	c.Warnf(at("a.yaml", 2, 10), "X-3", "odd")
	c.Errorf(at("a.yaml", 2, 9), "X-4", "same")
	c.Errorf(at("a.yaml", 2, 9), "X-4", "same")
	c.Errorf(at("a.yaml", 0, 0), "X-5", "the whole file")
	c.Errorf(diag.Position{}, "X-6", "nowhere")
	want := `nowhere
a.yaml: the whole file
a.yaml:2:9: same
a.yaml:2:10: warning: odd
a.yaml:14:9: component "api": requirement "host" names "web", which is not in the topology (did you mean "backend"?)
b.yaml:1:1: later file`
	if diff := cmp.Diff(want, c.List().Error()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAListOfWarningsIsNoError(t *testing.T) {
	t.Parallel()
	var c diag.Collector
	if err := c.List().Err(); err != nil {
		t.Errorf("an empty list is the error %v", err)
	}
	c.Warnf(at("a", 1, 1), "X-1", "odd")
	if err := c.List().Err(); err != nil || c.Errors() != 0 {
		t.Errorf("a warning is the error %v", err)
	}
	c.Errorf(at("a", 1, 1), "X-2", "bad")
	err := fmt.Errorf("cannot load: %w", c.List().Err())
	var one diag.Diagnostic
	var list diag.List
	if !errors.As(err, &list) || !errors.As(err, &one) || c.Errors() != 1 {
		t.Errorf("%v is neither a list nor a diagnostic", err)
	}
}

func TestADiagnosticSurvivesJSON(t *testing.T) {
	t.Parallel()
	for _, d := range []diag.Diagnostic{
		{Position: at("a", 1, 2), Code: "X-1", Message: "bad", Suggestion: "good"},
		{Code: "X-2", Severity: diag.Warning, Message: "odd"},
	} {
		data, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var again diag.Diagnostic
		if err := json.Unmarshal(data, &again); err != nil || again != d {
			t.Errorf("%s became %+v, %v", data, again, err)
		}
	}
	var s diag.Severity
	if err := s.UnmarshalText([]byte("fatal")); err == nil {
		t.Error("an unknown severity was read")
	}
}

func TestUnknownSuggestsTheNearestName(t *testing.T) {
	t.Parallel()
	var c diag.Collector
	if got := c.Unknown(at("a", 1, 1), "X-1", "storr", []string{"store", "other"}, "unknown"); got != "store" {
		t.Errorf("Unknown gives %q", got)
	}
	if !c.Suggested("store", "X-0", "X-1") || c.Suggested("store", "X-0") || c.Suggested("other", "X-1") {
		t.Error("what was suggested is not known")
	}
}

func TestSuggestionsAreBounded(t *testing.T) {
	t.Parallel()
	var c diag.Collector
	for i := range 300 {
		c.Unknown(at("a", i, 1), "X-1", "storr", []string{"store", "other"}, "unknown")
	}
	n := 0
	for _, d := range c.List() {
		if d.Suggestion != "" {
			n++
		}
	}
	if n != 200 || c.Suggesting() {
		t.Errorf("%d were suggested", n)
	}
}

func TestWhatSuggestionsCompareIsBoundedInAll(t *testing.T) {
	t.Parallel()
	names := make([]string, 1<<20)
	for i := range names {
		names[i] = "a name that is longer than the other"
	}
	names[0] = "store"
	var c diag.Collector
	for i := range 9 {
		c.Unknown(at("a", i, 1), "X-1", "storr", names, "unknown")
		if suggesting := i < 3; c.Suggesting() != suggesting {
			t.Errorf("after %d names, it is %t that more are looked for", i+1, !suggesting)
		}
	}
	for i, d := range c.List() {
		if (d.Suggestion == "store") != (i < 4) {
			t.Errorf("name %d has the suggestion %q", i, d.Suggestion)
		}
	}
}

func TestQuoteIsThatOfTheLanguage(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "api", "a b~", `a"b`, `a\b`, "a\tb", "a\x7fb", "caf\u00e9", "\u200b", "\xff"} {
		if got, want := diag.Quote(name), strconv.Quote(name); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}

func TestLinesAreThoseThatPositionsCount(t *testing.T) {
	t.Parallel()
	const want = "a|b||c|d|e|f"
	text := "a\nb\r\n\nc\rd\u0085e\u2028f"
	for name, data := range map[string]string{
		"UTF-8": text, "byte order mark": "\uFEFF" + text,
		"UTF-16": "\xfe\xff\x00a\x00\n\x00b\x00\r\x00\n\x00\n\x00c\x00\r\x00d\x00\x85\x00e\x20\x28\x00f",
		"LE":     "\xff\xfea\x00\n\x00b\x00\r\x00\n\x00\n\x00c\x00\r\x00d\x00\x85\x00e\x00\x28\x20f\x00",
	} {
		if got := strings.Join(diag.Lines([]byte(data)), "|"); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
