package grammar_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../../.."

var (
	quotedName = regexp.MustCompile("`([^`]+)`")
	testFunc   = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	fieldKey   = regexp.MustCompile(`\{"([a-z_-]+)", (?:ignored|r\.|func|set|event|file|prefix|version|namespace|counted)`)
	refsKey    = regexp.MustCompile(`refs\("([a-z_]+)"`)
	caseKey    = regexp.MustCompile(`(?m)^\tcase "([a-z_]+)":`)
)

// tables reads the rows of the page's tables, a cell a string.
func tables(t *testing.T) (sections, keywords [][]string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "docs", "tosca-conformance.md"))
	if err != nil {
		t.Fatal(err)
	}
	inKeywords := false
	for line := range strings.Lines(string(data)) {
		inKeywords = inKeywords || strings.HasPrefix(line, "## Keywords")
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		switch {
		case len(cells) != 3 || strings.HasPrefix(cells[0], "---") || !strings.Contains(cells[2], "`"):
		case inKeywords:
			keywords = append(keywords, cells)
		default:
			sections = append(sections, cells)
		}
	}
	return sections, keywords
}

func names(cell string) []string {
	var all []string
	for _, m := range quotedName.FindAllStringSubmatch(cell, -1) {
		all = append(all, m[1])
	}
	return all
}

func TestEveryTestThatTheConformanceTableNamesIsThere(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{}
	err := filepath.WalkDir(filepath.Join(root, "tosca"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		for _, m := range testFunc.FindAllSubmatch(data, -1) {
			tests[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	sections, _ := tables(t)
	if len(sections) < 25 {
		t.Errorf("the tables have %d sections only", len(sections))
	}
	for _, row := range sections {
		for _, name := range names(row[2]) {
			if strings.HasPrefix(name, "Test") && tests[name] {
				continue
			}
			_, err := os.Stat(filepath.Join(root, "tosca", "testdata", name+".txtar"))
			if _, here := os.Stat(filepath.Join("testdata", name+".txtar")); err != nil && here != nil {
				t.Errorf("section %s: there is no test %q", strings.TrimSpace(row[0]), name)
			}
		}
	}
}

func TestEveryKeywordIsInTheConformanceTableAndInItsCases(t *testing.T) {
	t.Parallel()
	listed := map[string]bool{}
	_, keywords := tables(t)
	for _, row := range keywords {
		for _, name := range names(row[1]) {
			data, err := os.ReadFile(filepath.Join("testdata", "read", name+".txtar"))
			if err != nil {
				t.Error(err)
				continue
			}
			input, _, _ := strings.Cut(string(data), "-- want --")
			for _, keyword := range names(row[2]) {
				listed[keyword] = true
				written := regexp.MustCompile(`(^|[^\w-])` + regexp.QuoteMeta(keyword) + `:`)
				if !written.MatchString(input) {
					t.Errorf("keyword %q is not in case %q", keyword, name)
				}
			}
		}
		if versions := strings.TrimSpace(row[0]); versions != "1.x" && !slices.Contains(names(row[1]), "2.0") {
			t.Errorf("the keywords of %s have no case of 2.0", versions)
		}
	}
	for keyword := range readKeywords(t) {
		if !listed[keyword] {
			t.Errorf("the reader knows keyword %q, and docs/tosca-conformance.md does not", keyword)
		}
	}
}

// readKeywords are the keywords that stand in the reader's source.
func readKeywords(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	for _, name := range sections {
		known[name] = true
	}
	for _, name := range []string{"delegate", "set_state", "call_operation", "inline"} {
		known[name] = true
	}
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, pattern := range []*regexp.Regexp{fieldKey, refsKey, caseKey} {
			for _, m := range pattern.FindAllSubmatch(data, -1) {
				known[string(m[1])] = true
			}
		}
	}
	if len(known) < 110 {
		t.Errorf("%d keywords are found only", len(known))
	}
	return known
}

var sections = []string{
	"node_types", "relationship_types", "capability_types", "interface_types", "artifact_types", "data_types", "group_types", "policy_types",
}
