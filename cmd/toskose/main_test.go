package main

import (
	"archive/zip"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// commands are the programs that the test binary runs as by their names.
var commands = map[string]func(){}

func TestMain(m *testing.M) { testscript.Main(withBinary{m}, commands) }

// withBinary runs tests with toskose in PATH, built without the race detector: it starts in a fraction
// of the time.
type withBinary struct{ *testing.M }

func (w withBinary) Run() int {
	folder, err := os.MkdirTemp("", "toskose-")
	if err == nil {
		defer os.RemoveAll(folder)
		err = os.Setenv("PATH", folder+string(filepath.ListSeparator)+os.Getenv("PATH"))
	}
	if err == nil {
		build := exec.CommandContext(context.Background(), "go", "build", "-ldflags=-s -w", "-o", filepath.Join(folder, "toskose"), ".")
		build.Stderr = os.Stderr
		err = build.Run()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "cannot build toskose: %v\n", err)
		return 1
	}
	return w.M.Run()
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	thinking, err := filepath.Abs(filepath.Join("..", "..", "examples", "thinking"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"zip": zipFiles},
		Setup: func(env *testscript.Env) error {
			env.Setenv("THINKING", thinking)
			env.Setenv("GORACE", "atexit_sleep_ms=0") // otherwise each command sleeps for a second, at its end
			env.Setenv("DOCKER_HOST", "unix://"+env.WorkDir+"/no-engine.sock")
			return nil
		},
	})
}

// zipFiles is `zip ARCHIVE NAME=FILE...`: names are taken as they are.
func zipFiles(ts *testscript.TestScript, _ bool, args []string) {
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	defer f.Close()
	zw := zip.NewWriter(f)
	for _, pair := range args[1:] {
		name, file, _ := strings.Cut(pair, "=")
		w, err := zw.Create(name)
		ts.Check(err)
		_, err = w.Write([]byte(ts.ReadFile(file)))
		ts.Check(err)
	}
	ts.Check(zw.Close())
}
