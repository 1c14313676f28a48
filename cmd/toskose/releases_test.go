package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/internal/docs"
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/packager/output"
	"github.com/toskose/toskose/tosca"
	"github.com/toskose/toskose/tosca/csar"
)

type sameBytes struct{}

func (sameBytes) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// packagedThinking writes the manifests of Thinking after some files of it were changed.
func packagedThinking(t *testing.T, dir string, cfg config.Config, change map[string]string) {
	t.Helper()
	source := filepath.Join(t.TempDir(), "thinking")
	if err := os.CopyFS(source, os.DirFS(filepath.Join("..", "..", "examples", "thinking"))); err != nil {
		t.Fatal(err)
	}
	for name, text := range change {
		if err := os.WriteFile(filepath.Join(source, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	archive, err := csar.Open(source)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	app, _, err := tosca.Load(t.Context(), archive, tosca.Options{})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := packager.New(app, archive, cfg, packager.Options{Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	target := compose.Target(compose.Options{EndpointMode: compose.EndpointVIP, PublishMode: compose.PublishIngress})
	if err := output.Write(dir, plan, output.Options{Random: sameBytes{}, Now: time.Now(), Targets: []output.Target{target}}); err != nil {
		t.Fatal(err)
	}
}

// TestTheDocumentationShowsWhatDiffPrints compares two versions of Thinking: of api a script
// and of the frontend a level has changed.
func TestTheDocumentationShowsWhatDiffPrints(t *testing.T) {
	t.Parallel()
	shown := docs.Shown(t, "docs/second-day.md", "toskose diff thinking-1 thinking-2")
	work := t.TempDir()
	one, two := filepath.Join(work, "thinking-1"), filepath.Join(work, "thinking-2")
	packagedThinking(t, one, config.Config{}, nil)
	packagedThinking(t, two, config.Config{Nodes: map[string]config.Node{"frontend": {LogLevel: "DEBUG"}}}, map[string]string{"scripts/api/stop.sh": "#!/bin/sh\n"})
	var out bytes.Buffer
	code := run(t.Context(), []string{"diff", "--target", "compose", one, two}, environment{out: &out, err: &out})
	id := regexp.MustCompile(`[0-9a-f]{12}`)
	if code != cli.ExitOK || id.ReplaceAllString(out.String(), "ID") != id.ReplaceAllString(shown, "ID") {
		t.Errorf("diff exits with %d and prints\n%s\nand docs/second-day.md shows\n%s", code, out.String(), shown)
	}
	for _, folders := range [][]string{{one, filepath.Join(work, "nowhere")}, {filepath.Join(work, "nowhere"), two}} {
		out.Reset()
		if code := run(t.Context(), append([]string{"diff"}, folders...), environment{out: &out, err: &out}); code != cli.ExitFailed || !strings.Contains(out.String(), "nowhere") {
			t.Errorf("diff %q exits with %d and says %s", folders, code, out.String())
		}
	}
}
