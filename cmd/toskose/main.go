// Command toskose packages TOSCA applications so that each of their components can be managed on
// its own, and deploys the packaged applications.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/moby/term"
	_ "golang.org/x/crypto/x509roots/fallback" // registries' authorities, for images and machines that have no certificates

	"github.com/toskose/toskose/cmd/toskose/cli"
)

func main() {
	debug.SetGCPercent(400) // a short-lived process with a small heap
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, stop)               // a second signal ends even the cleanup
	stdin, stdout, stderr := term.StdStreams() // on Windows, with escape sequences enabled
	_, inTerminal := term.GetFdInfo(stdin)
	_, outTerminal := term.GetFdInfo(stdout)
	_, errTerminal := term.GetFdInfo(stderr)
	code := run(ctx, os.Args[1:], environment{
		in: stdin, out: stdout, err: stderr, environ: os.Environ(), binaries: binaryFolders(),
		inTerminal: inTerminal, outTerminal: outTerminal, errTerminal: errTerminal,
	})
	stop()
	os.Exit(code)
}

// environment is the part of the process's environment that commands use.
type environment struct {
	in       io.Reader
	out, err io.Writer
	environ  []string
	binaries []string // folders with the static binaries of unit and manager

	inTerminal, outTerminal, errTerminal bool // whether they are terminals
}

func (e environment) streams() cli.Streams {
	return cli.Streams{In: e.in, Out: cli.Clean(e.out), Err: cli.Clean(e.err), Raw: e.out, Screen: e.outTerminal && !slices.Contains(e.environ, "TERM=dumb")}
}

// colour reports whether to print in colour to a stream that may be a terminal
// (no-color.org).
func (e environment) colour(terminal bool) bool {
	for _, pair := range e.environ {
		if name, value, _ := strings.Cut(pair, "="); (name == "NO_COLOR" && value != "") || pair == "TERM=dumb" {
			return false
		}
	}
	return terminal
}

// binaryFolders returns the folders to search for the binaries of unit and manager: the folder of
// this executable, after resolving symbolic links, and, if it is PREFIX/bin/toskose,
// PREFIX/lib/toskose.
func binaryFolders() []string {
	path, err := os.Executable()
	if err != nil {
		return nil
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	dir := filepath.Dir(path)
	return []string{dir, filepath.Join(filepath.Dir(dir), "lib", "toskose")}
}
