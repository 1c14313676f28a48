package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/diag/report"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

func sample() (diag.List, report.Options) {
	at := func(line, column int) diag.Position {
		return diag.Position{File: "dir/a b.yaml", Line: line, Column: column}
	}
	list := diag.List{
		{Code: "X-001", Message: "nowhere"},
		{Position: diag.Position{File: "--input port"}, Code: "X-002", Message: "given"},
		{Position: diag.Position{File: "gone.yaml", Line: 3, Column: 1}, Code: "X-002", Message: "cannot be read"},
		{Position: at(0, 0), Code: "X-003", Message: "the whole file"},
		{Position: at(1, 8), Code: "X-002", Message: `names "wbe"`, Suggestion: "web"},
		{Position: at(2, 2), Code: "X-004", Severity: diag.Warning, Message: "after a tab"},
		{Position: at(3, 1500), Code: "X-004", Severity: diag.Warning, Message: "far \x1b[31m along"},
		{Position: at(4, 0), Code: "X-004", Severity: diag.Warning, Message: "a line and no column"},
		{Position: at(5, 40), Code: "X-004", Severity: diag.Warning, Message: "beyond the end"},
		{Position: at(99, 1), Code: "X-004", Severity: diag.Warning, Message: "beyond the file"},
	}
	file := "\uFEFFhost:  wbe\r\n\ttab\n" + strings.Repeat("x", 1499) + "HERE" + strings.Repeat("y", 1000) + "\nline\x1b[2J\nend"
	return list, report.Options{
		Subject: "dir/a b.yaml", Version: "1.0", Title: func(code string) string { return map[string]string{"X-002": "Second"}[code] },
		Source: func(name string) ([]byte, error) {
			if name == "dir/a b.yaml" {
				return []byte(file), nil
			}
			return nil, errors.New("not there")
		},
		Locate: func(name string) (string, bool) { return "root/" + name, !strings.HasPrefix(name, "--") },
	}
}

func TestReports(t *testing.T) {
	t.Parallel()
	for name, print := range map[string]func(io.Writer, diag.List, report.Options) error{
		"report.txt": report.Text, "report.json": report.JSON, "report.sarif": report.SARIF,
		"colour.txt": func(w io.Writer, list diag.List, opts report.Options) error {
			opts.Colour = true
			return report.Text(w, list[4:6], opts)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list, opts := sample()
			var got bytes.Buffer
			if err := print(&got, list, opts); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", name)
			if *update {
				if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The properties that SARIF 2.1.0 requires: version and runs (3.13), a tool
// with a named driver (3.18, 3.19), a message with a text for each result
// (3.27), an id for each rule (3.49); and indexes that point at their rules.
func TestSARIFHasWhatItsSchemaRequires(t *testing.T) {
	t.Parallel()
	for _, empty := range []bool{false, true} {
		list, opts := sample()
		if empty {
			list = nil
		}
		var b bytes.Buffer
		if err := report.SARIF(&b, list, opts); err != nil {
			t.Fatal(err)
		}
		var log struct {
			Version string
			Runs    []struct {
				Tool struct {
					Driver struct {
						Name  string
						Rules []struct{ ID string }
					}
				}
				Results []struct {
					RuleID    string
					RuleIndex int
					Level     string
					Message   struct{ Text string }
				}
			}
		}
		if err := json.Unmarshal(b.Bytes(), &log); err != nil {
			t.Fatal(err)
		}
		if log.Version != "2.1.0" || len(log.Runs) != 1 || log.Runs[0].Tool.Driver.Name == "" || log.Runs[0].Results == nil {
			t.Fatalf("a required property is missing in %s", b.String())
		}
		run := log.Runs[0]
		if len(run.Results) != len(list) {
			t.Errorf("%d results of %d", len(run.Results), len(list))
		}
		for _, r := range run.Results {
			if r.Message.Text == "" || run.Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID || (r.Level != "error" && r.Level != "warning") {
				t.Errorf("wrong result %+v", r)
			}
		}
	}
}

func TestTheSummaryCounts(t *testing.T) {
	t.Parallel()
	e, w := diag.Diagnostic{}, diag.Diagnostic{Severity: diag.Warning}
	for want, list := range map[string]diag.List{
		"app.csar is valid":                          nil,
		"app.csar is valid: 1 warning":               {w},
		"app.csar is not valid: 1 error, 2 warnings": {e, w, w},
		"app.csar is not valid: 2 errors":            {e, e},
	} {
		if got := report.Summary("app.csar", list); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// It is not parallel: what it counts is of the whole process.
func TestALineWithManyProblemsIsTakenApartOnce(t *testing.T) {
	const problems = 200
	line := []byte(strings.Repeat("x", 1<<20))
	list := make(diag.List, problems)
	for i := range list {
		list[i] = diag.Diagnostic{Position: diag.Position{File: "f", Line: 1, Column: 1000 * i}, Code: "X-1", Message: "bad"}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := report.Text(io.Discard, list, report.Options{Source: func(string) ([]byte, error) { return line, nil }}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 32<<20 {
		t.Errorf("%d problems of a line of 1 MB take %d MB", problems, taken>>20)
	}
}

// A caret stands below what is meant, however wide the letters before it are.
func TestTheCaretStandsBelowWhatIsMeant(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"ab: X":                         "      |     ^",
		"\tab: X":                       "      | \t    ^",
		"\u65e5\u672c: X":               "      |       ^",
		"e\u0301: X":                    "      |    ^",
		"\U0001f469\u200d\U0001f680: X": "      |       ^",
		"\uff21: X":                     "      |     ^",
		"\ud55c: X":                     "      |     ^",
		"\x1b[m: X":                     "      |      ^",
	} {
		column := len([]rune(line))
		list := diag.List{{Position: diag.Position{File: "f", Line: 1, Column: column}, Code: "X-1", Message: "m"}}
		var b bytes.Buffer
		if err := report.Text(&b, list, report.Options{Source: func(string) ([]byte, error) { return []byte(line), nil }}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		if got := lines[len(lines)-1]; got != want {
			t.Errorf("%q:\ngot  %q\nwant %q", line, got, want)
		}
	}
}

func TestPeopleAreShownAThousandProblems(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{1000: "error: m [X-1]", 1001: "and 1 more problem: `toskose validate -o json` has all", 5000: "and 4000 more problems: `toskose validate -o json` has all"} {
		list := make(diag.List, n)
		for i := range list {
			list[i] = diag.Diagnostic{Code: "X-1", Message: "m"}
		}
		var b bytes.Buffer
		if err := report.Text(&b, list, report.Options{}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")
		if got := lines[len(lines)-1]; got != want || len(lines) > 1001 {
			t.Errorf("%d problems: %d lines, the last %q", n, len(lines), got)
		}
	}
}

func TestALongMessageLosesItsMiddle(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	list := diag.List{{Code: "X-1", Message: "node \"" + strings.Repeat("\u00e9", 1<<20) + "\" is unknown"}}
	if err := report.Text(&b, list, report.Options{}); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); len(got) > 2500 || !strings.HasPrefix(got, "error: node \"\u00e9") || !strings.HasSuffix(got, "\u00e9\" is unknown [X-1]\n") || !strings.Contains(got, "\u2026") {
		t.Errorf("%d bytes: %.40s", len(got), got)
	}
}

// A location is a URI reference (SARIF 2.1.0, 3.4.3): relative, or of a file.
func TestSARIFNamesFilesByURIs(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"app.yaml": "app.yaml", "./a/../b.yaml": "b.yaml", "../x.yaml": "../x.yaml", "a b#c%d?.yaml": "a%20b%23c%25d%3F.yaml",
		"c:x.yaml": "./c:x.yaml", "caf\u00e9/\x1b.yaml": "caf%C3%A9/%1B.yaml", "/tmp/../srv/a b.yaml": "file:///srv/a%20b.yaml",
	} {
		var b bytes.Buffer
		if err := report.SARIF(&b, diag.List{{Position: diag.Position{File: name, Line: 2}, Code: "X-1"}}, report.Options{}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), `"uri": "`+want+`"`) || !strings.Contains(b.String(), `"startLine": 2`+"\n") {
			t.Errorf("%q is not %s in\n%s", name, want, b.String())
		}
	}
}
