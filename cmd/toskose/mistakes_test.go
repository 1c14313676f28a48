//go:build !windows

package main

import (
	"bytes"
	"context"
	"flag"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/internal/docs"
	"github.com/toskose/toskose/packager/config"
)

var updateMistakes = flag.Bool("mistakes", false, "rewrite the golden files of mistakes")

// mistake is what a new user does wrong, in a folder with the application of `toskose init`.
type mistake struct {
	name string
	make func(t *testing.T, shop string) // changes the application
	args string
	code int
}

// edit replaces a text in a file of the application.
func edit(file, from, to string) func(*testing.T, string) {
	return func(t *testing.T, shop string) {
		t.Helper()
		path := filepath.Join(shop, file)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(text, []byte(from)) {
			t.Fatalf("%s has no %q", file, from)
		}
		if err := os.WriteFile(path, bytes.Replace(text, []byte(from), []byte(to), 1), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

var mistakes = []mistake{
	{"indentation", edit("app.yaml", "      requirements:\n        - host: web\n      interfaces", "     requirements:\n        - host: web\n      interfaces"), "package shop", cli.ExitFailed},
	{"unknown-type", edit("app.yaml", "type: tosker.nodes.Software", "type: tosker.nodes.Softwore"), "package shop", cli.ExitFailed},
	{"missing-script", edit("app.yaml", "scripts/clock/start.sh", "scripts/clock/run.sh"), "package shop", cli.ExitFailed},
	{"crlf", edit("scripts/clock/start.sh", "\n", "\r\n"), "package shop", cli.ExitFailed},
	{"missing-input", edit("app.yaml", "      default: 8000\n", ""), "package shop", cli.ExitFailed},
	{"typo", edit("toskose.yml", "liveness:", "livenes:"), "package shop", cli.ExitFailed},
	{"typo-command", nil, "pakage shop", cli.ExitUsage},
	{"engine-unreachable", nil, "package shop", cli.ExitFailed},
}

// TestMistakesAreExplained compares what is printed for each mistake with a golden file. The documentation has the same texts.
func TestMistakesAreExplained(t *testing.T) {
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if said, code := say(t, "init", "shop"); code != cli.ExitOK {
				t.Fatal(said)
			}
			if m.make != nil {
				m.make(t, "shop")
			}
			said, code := say(t, append([]string{"--docker-url", "unix:///no/engine.sock", "--quiet"}, strings.Fields(m.args)...)...)
			golden(t, m.name, m.args, said, code, m.code)
		})
	}
}

// TestMistakesOfARunningApplicationAreExplained has real units and a real manager.
func TestMistakesOfARunningApplicationAreExplained(t *testing.T) {
	if testing.Short() {
		t.Skip("runs units; not with -short")
	}
	for _, m := range []struct {
		mistake
		settings map[string]config.Component
		after    func(t *testing.T, out string) // changes the packaged folder
	}{
		{mistake{"failing-operation", edit("scripts/pages/configure.sh", "\nset -e", "\necho 'no such database: shop' >&2\nexit 3\nset -e"), "up --dir shop-toskosed", cli.ExitFailed}, nil, nil},
		{
			// On a busy machine, Python prints its line only after the check has failed.
			mistake{"wrong-port", edit("scripts/pages/start.sh", "exec python3 -m http.server --directory /srv/www 8000", "echo 'Serving HTTP on 0.0.0.0 port 8000 (http://0.0.0.0:8000/) ...'\nexec sleep 1000"), "run pages start --dir shop-toskosed", cli.ExitFailed},
			map[string]config.Component{"pages": {Readiness: config.Readiness{TCP: "127.0.0.1:1", Timeout: "1s"}}},
			func(t *testing.T, out string) {
				t.Helper()
				if said, code := say(t, "goal", "pages=configured", "--dir", out); code != cli.ExitOK {
					t.Fatal(said)
				}
			},
		},
		{mistake{"wrong-name", nil, "up page --dir shop-toskosed", cli.ExitUsage}, nil, nil},
		{mistake{"folder-gone", nil, "ps --dir shop-toskosed", cli.ExitFailed}, nil, func(t *testing.T, out string) {
			t.Helper()
			if err := os.Remove(filepath.Join(out, "secrets", "manager-password")); err != nil { // the manager under test reads the others
				t.Fatal(err)
			}
		}},
	} {
		t.Run(m.name, func(t *testing.T) {
			dir := t.TempDir()
			shop, out := filepath.Join(dir, "shop"), filepath.Join(dir, "shop-toskosed")
			if said, code := say(t, "init", shop); code != cli.ExitOK {
				t.Fatal(said)
			}
			if m.make != nil {
				m.make(t, shop)
			}
			settle(t, shop, out, m.settings)
			if m.after != nil {
				m.after(t, out)
			}
			t.Chdir(dir)
			said, code := say(t, strings.Fields(m.args)...)
			golden(t, m.name, m.args, said, code, m.code)
		})
	}
}

// TestAnInterruptIsReported: the command had begun, and changed nothing.
func TestAnInterruptIsReported(t *testing.T) {
	s := newShop(t)
	ctx, cancel := context.WithCancel(t.Context())
	interrupt := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			cancel()
			next.ServeHTTP(w, r)
		})
	}
	s.around.Store(&interrupt)
	code := s.run(ctx, toRegistry...)
	golden(t, "interrupt", "package shop", s.err.String(), code, cli.ExitInterrupted)
}

// say runs a command and returns what it prints for people.
func say(t *testing.T, args ...string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	code := run(t.Context(), args, environment{out: &out, err: &out, environ: []string{"TOSKOSE_CONFIG=" + t.TempDir(), "DOCKER_HOST=unix:///no/engine.sock"}})
	return out.String(), code
}

var volatile = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`/tmp/[^ "]*/(shop|made)`), "…/$1"},
	{regexp.MustCompile(`\d\d:\d\d:\d\d UTC`), "12:00:00 UTC"},
	{regexp.MustCompile(`127\.0\.0\.1:\d{4,5}`), "127.0.0.1:8000"},
	{regexp.MustCompile(`port \d+ \(http://0\.0\.0\.0:\d+/\)`), "port 8000 (http://0.0.0.0:8000/)"},
	{regexp.MustCompile(`\(\d+\.\d+s\)`), "(1s)"},
	{regexp.MustCompile(`(?m)^\d+ of \d+( up)?; .*\n|^\d+ of \d+( up)?\n`), ""}, // progress depends on the machine's speed
	{regexp.MustCompile(`\(\d+(st|nd|rd|th) try\)`), "(3rd try)"},
}

// golden compares a message with its golden file.
func golden(t *testing.T, name, args, said string, code, want int) {
	t.Helper()
	if code != want {
		t.Errorf("exit code %d, want %d:\n%s", code, want, said)
	}
	for _, v := range volatile {
		said = v.pattern.ReplaceAllString(said, v.with)
	}
	file := filepath.Join(mistakesFolder, name+".golden")
	if *updateMistakes {
		if err := os.WriteFile(file, []byte(said), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	expected, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(expected), said); diff != "" {
		t.Errorf("toskose %s prints (-want +got):\n%s", args, diff)
	}
}

var mistakesFolder, _ = filepath.Abs("testdata/mistakes") // tests change their directory

// TestTheDocumentationHasTheMessagesOfMistakes: docs/mistakes.md has each golden file, and no page has another message.
func TestTheDocumentationHasTheMessagesOfMistakes(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(mistakesFolder, "*.golden"))
	if err != nil || len(files) < 15 {
		t.Fatalf("%d golden files, %v", len(files), err)
	}
	messages := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		messages[string(text)] = filepath.Base(file)
	}
	shown := map[string]bool{}
	for _, b := range docs.Of(t, docs.Message) {
		if messages[b.Text] == "" {
			t.Errorf("%s:%d: no mistake prints this:\n%s", b.Page, b.Line, b.Text)
		}
		shown[messages[b.Text]] = shown[messages[b.Text]] || b.Page == "docs/mistakes.md"
	}
	for _, name := range messages {
		if !shown[name] {
			t.Errorf("docs/mistakes.md lacks %s", name)
		}
	}
}

// TestResourcesOfTheDocumentationNameWhatPackagingWrites: their form is that of Argo CD and Flux.
func TestResourcesOfTheDocumentationNameWhatPackagingWrites(t *testing.T) {
	t.Parallel()
	kinds := []string{}
	for _, b := range docs.Of(t, docs.Resource) {
		var r struct {
			APIVersion string `yaml:"apiVersion"`
			Kind       string
			Metadata   struct{ Name, Namespace string }
			Spec       struct {
				Path   string
				Source struct{ Path string }
			}
		}
		if err := yaml.Unmarshal([]byte(b.Text), &r); err != nil {
			t.Errorf("%s:%d: %v", b.Page, b.Line, err)
		}
		if at := path.Clean(r.Spec.Path + r.Spec.Source.Path); at != "deploy/thinking" || r.Metadata.Name != "thinking" {
			t.Errorf("%s:%d: %s deploys %q", b.Page, b.Line, r.Kind, at)
		}
		kinds = append(kinds, r.APIVersion+" "+r.Kind)
	}
	if diff := cmp.Diff([]string{"argoproj.io/v1alpha1 Application", "kustomize.toolkit.fluxcd.io/v1 Kustomization"}, kinds); diff != "" {
		t.Error(diff)
	}
}
