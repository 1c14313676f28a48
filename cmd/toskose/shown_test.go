//go:build !windows

package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/internal/docs"
)

// differs replaces what differs between runs: times, addresses, processes, durations and output.
func differs(text string) string {
	for _, pattern := range []string{`[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z`, `[0-9]+(\.[0-9]+){3}:[0-9]+`, `process [0-9]+`, `\([0-9.]+m?s\)`, `; last line: ".*"`} {
		text = regexp.MustCompile(pattern).ReplaceAllString(text, "…")
	}
	return text
}

// TestTheDocumentationShowsWhatPlansPrint compares a plan of Thinking, and what is said of components that are
// not up by a start, or never.
func TestTheDocumentationShowsWhatPlansPrint(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	thinking := filepath.Join(docs.Root(t), "examples", "thinking")
	if code := run(t.Context(), []string{"plan", "--goal", "api=configured", thinking}, environment{out: &out, err: &out}); code != cli.ExitOK {
		t.Fatal(out.String())
	}
	if shown := docs.Shown(t, "docs/planning.md", "toskose plan --goal api=configured thinking.csar"); out.String() != shown {
		t.Errorf("a plan is\n%s\nand the documentation shows\n%s", out.String(), shown)
	}

	// api is up in a state of another name, and lint is a check that nobody needs.
	const policies = `  policies:
    - lint_protocol:
        type: tosker.policies.Protocol
        targets: [lint]
        properties:
          initial_state: unknown
          states: {unknown: , clean: {}}
          transitions: [{source: unknown, target: clean, interface: Standard, operation: create}]
`
	const lint = `  node_templates:
    lint:
      type: tosker.nodes.Software
      requirements: [{host: backend}]
      interfaces: {Standard: {create: scripts/api/install.sh}}
`
	dir := filepath.Join(t.TempDir(), "thinking")
	if err := os.CopyFS(dir, os.DirFS(thinking)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "thinking.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, after, _ := strings.Cut(string(text), "    - api_protocol:\n")
	api, gui, _ := strings.Cut(after, "    - gui_protocol:\n")
	changed := strings.NewReplacer("  node_templates:\n", lint, "  policies:\n", policies).Replace(before) +
		"    - api_protocol:\n" + strings.ReplaceAll(api, "running", "working") + "    - gui_protocol:\n" + gui
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	if code := run(t.Context(), []string{"plan", dir}, environment{out: &said, err: &said}); code != cli.ExitOK {
		t.Fatal(said.String())
	}
	if shown := docs.Shown(t, "docs/planning.md", `"lint" is left out`); !strings.HasPrefix(said.String(), shown) {
		t.Errorf("a plan begins\n%s\nand the documentation shows\n%s", said.String(), shown)
	}
}

// TestTheDocumentationShowsWhatTheManagerAnswers runs an operation of Thinking, and again when it is not allowed.
func TestTheDocumentationShowsWhatTheManagerAnswers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs units; not with -short")
	}
	dir := filepath.Join(t.TempDir(), "thinking-toskosed")
	r := settle(t, filepath.Join(docs.Root(t), "examples", "thinking"), dir)
	r.wants(t, dir, "up")
	for _, answer := range []struct {
		status int
		shown  string
	}{
		{http.StatusOK, docs.Shown(t, "docs/manager-api.md", `"outcome": "succeeded"`)},
		{http.StatusConflict, docs.Shown(t, "docs/manager-api.md", `"type": "urn:toskose:problem:not-allowed"`)},
	} {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/node/backend/api/stop", http.NoBody)
		req.SetBasicAuth("admin", r.password)
		w := httptest.NewRecorder()
		r.handler.ServeHTTP(w, req)
		if w.Code != answer.status || !slices.Equal(docs.Keys(t, w.Body.String()), docs.Keys(t, answer.shown)) {
			t.Errorf("the manager answers %d\n%s\nand the documentation shows\n%s", w.Code, w.Body, answer.shown)
		}
		sentence := regexp.MustCompile(`(?m)^  "detail": .*$`)
		if got, shown := sentence.FindString(w.Body.String()), sentence.FindString(answer.shown); differs(got) != differs(shown) {
			t.Errorf("the manager says\n%s\nand the documentation shows\n%s", got, shown)
		}
	}
}

// TestTheDocumentationShowsWhatHappensToAKilledComponent follows the events while api of Thinking is killed under a goal.
func TestTheDocumentationShowsWhatHappensToAKilledComponent(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs units; not with -short")
	}
	dir := filepath.Join(t.TempDir(), "thinking-toskosed")
	r := settle(t, filepath.Join(docs.Root(t), "examples", "thinking"), dir)
	r.wants(t, dir, "up")
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	until := &until{what: "to running (", end: end}
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"events", "--dir", dir, "--follow", "--states"}, environment{out: until, err: until})
	}()
	for !strings.Contains(until.String(), "frontend/gui") { // it is told where all stands first
		select {
		case <-ctx.Done():
			t.Fatalf("the states are not told: %s", until.String())
		case <-time.After(5 * time.Millisecond):
		}
	}
	r.kill(t, "api")
	<-done
	var got []string
	for line := range strings.Lines(until.String()) {
		if !strings.Contains(line, "  state  ") {
			got = append(got, line)
		}
	}
	shown := docs.Shown(t, "README.md", "SIGKILL")
	if differs(strings.Join(got, "")) != differs(shown) {
		t.Errorf("the events are\n%s\nand the README shows\n%s", strings.Join(got, ""), shown)
	}
}

// wants runs a command of the application, which has to succeed.
func (r *resident) wants(t *testing.T, dir string, words ...string) {
	t.Helper()
	var out bytes.Buffer
	if code := run(t.Context(), append(words, "--dir", dir), environment{out: &out, err: &out}); code != cli.ExitOK {
		t.Fatalf("%q: %s", words, out.String())
	}
}

// kill kills the process that a component's start has left.
func (r *resident) kill(t *testing.T, component string) {
	t.Helper()
	for _, folder := range r.folders {
		text, err := os.ReadFile(filepath.Join(folder, "tmp", component+".pid"))
		if err != nil {
			continue
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("nothing of %s runs", component)
}
