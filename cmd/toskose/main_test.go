package main

import (
	"archive/zip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// commands are what this binary is by other names.
var commands = map[string]func(){"toskose": main}

func TestMain(m *testing.M) {
	testscript.Main(m, commands)
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
