package config_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/internal/docs"
	"github.com/toskose/toskose/unit/config"
)

const unitPage = "../../docs/unit.md"

// documented is a row of the table of keys in docs/unit.md.
type documented struct{ key, sections, standard, example string }

func documentedKeys(t *testing.T) []documented {
	t.Helper()
	page, err := os.ReadFile(unitPage)
	if err != nil {
		t.Fatal(err)
	}
	var rows []documented
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		key := strings.Trim(cells[0], "|` ")
		if !strings.HasPrefix(key, "toskose_") || !strings.HasPrefix(line, "| `") {
			continue
		}
		if len(cells) != 5 {
			t.Fatalf("the row of %s has %d cells", key, len(cells))
		}
		rows = append(rows, documented{key, cells[1], strings.Trim(cells[3], "` "), strings.Trim(cells[4], "|` ")})
	}
	return rows
}

// TestTheTableOfKeysIsComplete compares it with the keys in this package's code.
func TestTheTableOfKeysIsComplete(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		code, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(`"(toskose_[a-z_]*[a-z])"`).FindAllSubmatch(code, -1) {
			known[string(match[1])] = true
		}
	}
	if len(known) < 20 {
		t.Errorf("the code has %d keys only", len(known))
	}
	listed := map[string]bool{}
	for _, row := range documentedKeys(t) {
		listed[row.key] = true
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(known)), slices.Sorted(maps.Keys(listed))); diff != "" {
		t.Errorf("keys in the code (-) and in %s (+):\n%s", unitPage, diff)
	}
}

// beside are the lines that a key's example needs around it.
var beside = map[string]string{
	"[supervisord]":          "[supervisord]\n",
	"[inet_http_server]":     "[supervisord]\n[inet_http_server]\nport=127.0.0.1:9001\n",
	"[unix_http_server]":     "[supervisord]\n[unix_http_server]\nfile=/run/unit.sock\n",
	"[program:x]":            "[supervisord]\n[program:db]\ncommand=/bin/true\n[program:x]\ncommand=/bin/true\n",
	"[toskose:component:x]":  "[supervisord]\n[toskose:component:x]\n",
	"toskose_files":          "toskose_protocol={\"initial\":\"off\",\"states\":[{\"name\":\"off\"}]}\n",
	"toskose_tls_cert":       "toskose_tls_key=/tls/tls.key\n",
	"toskose_tls_key":        "toskose_tls_cert=/tls/tls.crt\n",
	"toskose_tls_client_ca":  "toskose_tls_key=/tls/tls.key\ntoskose_tls_cert=/tls/tls.crt\n",
	"toskose_ready_timeout":  "toskose_ready_tcp=80\n",
	"toskose_ready_interval": "toskose_ready_tcp=80\n",
	"toskose_live_status":    "toskose_live_http=http://127.0.0.1/\n",
	"toskose_live_text":      "toskose_live_http=http://127.0.0.1/\n",
	"toskose_live_interval":  "toskose_live_tcp=80\n",
	"toskose_live_timeout":   "toskose_live_tcp=80\n",
	"toskose_live_failures":  "toskose_live_tcp=80\n",
	"toskose_live_grace":     "toskose_live_tcp=80\n",
	"toskose_live_then":      "toskose_live_tcp=80\n",
	"toskose_interface":      "toskose_component=api\ntoskose_operation=run\nautostart=false\nautorestart=false\n",
	"toskose_operation":      "toskose_component=api\ntoskose_interface=Standard\nautostart=false\nautorestart=false\n",
	"operation":              "toskose_component=api\ntoskose_interface=Standard\ntoskose_operation=run\nautostart=false\nautorestart=false\n",
}

// TestTheTableOfKeysIsTrue reads each example, which must mean something, and each
// default, which must mean what leaving the key out does.
func TestTheTableOfKeysIsTrue(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "supervisord.conf") // a configuration knows where it is from
	load := func(text string) *config.Config {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		got, warnings, err := config.Load(file, nil)
		if err != nil || len(warnings) > 0 {
			t.Fatalf("%s\n%v %v", text, warnings, err)
		}
		got.Digest = "" // of the text, not of what it says
		return got
	}
	for _, row := range documentedKeys(t) {
		for section := range strings.SplitSeq(row.sections, ", ") {
			before, ok := beside[strings.Trim(section, "`")]
			if !ok {
				t.Fatalf("%s: there is no section %s", row.key, section)
			}
			switch row.key {
			case "toskose_inputs", "toskose_secret_inputs", "toskose_secret_environment", "toskose_timeout":
				before += beside["operation"]
			default:
				before += beside[row.key]
			}
			key, _, _ := strings.Cut(row.example, "=")
			if key != row.key {
				t.Errorf("the example of %s is %s", row.key, row.example)
			}
			example := load(before + row.example + "\n")
			if slices.Contains([]string{"toskose_protocol", "toskose_interface", "toskose_operation", "toskose_tls_cert", "toskose_tls_key"}, row.key) {
				continue // it cannot be left out
			}
			without := load(before)
			if cmp.Equal(example, without) {
				t.Errorf("%s in %s changes nothing", row.example, section)
			}
			if row.standard != "–" && !cmp.Equal(load(before+row.key+"="+row.standard+"\n"), without) {
				t.Errorf("%s of %s is not what leaving it out means", row.standard, row.key)
			}
		}
	}
}

// TestTheExamplesOfConfigurationsAreValid reads those of the documentation, of which one has an order.
func TestTheExamplesOfConfigurationsAreValid(t *testing.T) {
	t.Parallel()
	var ordered *config.Config
	for _, b := range docs.Of(t, docs.Supervisor) {
		text := b.Text
		if !strings.Contains(text, "[supervisord]\n") {
			text = "[supervisord]\n" + text
		}
		got, warnings, err := config.Parse("/c", config.Options{FS: fstest.MapFS{"c": {Data: []byte(text)}}})
		if err != nil || len(warnings) > 0 || len(got.Groups) == 0 {
			t.Fatalf("%s:%d: %v %v:\n%s", b.Page, b.Line, warnings, err, text)
		}
		if strings.Contains(text, "toskose_after") {
			ordered = got
		}
	}
	if ordered == nil {
		t.Fatal("no configuration has an order")
	}
	after := map[string][]string{}
	for _, g := range ordered.Groups {
		after[g.Name] = g.Programs[0].After
	}
	want := map[string][]string{"cache": nil, "db": nil, "migrate": {"db:db"}, "web": {"cache:cache", "db:db", "migrate:migrate"}}
	if diff := cmp.Diff(want, after); diff != "" {
		t.Error(diff)
	}
}
