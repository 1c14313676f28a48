// Command toskose packages TOSCA applications so that each of their
// components can be managed on its own, and deploys what it packaged.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
)

// version is set when building: -ldflags "-X main.version=…".
var version = "dev"

func main() {
	debug.SetGCPercent(400) // it lives for a moment, and keeps little
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // which nohup has it be
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, stop) // a second one ends even what cleans up
	code := run(ctx, os.Args[1:], environment{
		out: os.Stdout, err: os.Stderr, environ: os.Environ(), binaries: besideExecutable(),
		outTerminal: isTerminal(os.Stdout), errTerminal: isTerminal(os.Stderr),
	})
	stop()
	os.Exit(code)
}

// environment is all that a command has of the process it runs in.
type environment struct {
	out, err io.Writer
	environ  []string
	binaries []string // folders with the static binaries of unit and manager

	outTerminal, errTerminal bool // whether a person reads them
}

// isTerminal tells terminals from files and pipes. /dev/null is taken for one,
// where nobody minds.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// colour tells whether to print in colour on what may be a terminal
// (no-color.org).
func (e environment) colour(terminal bool) bool {
	for _, pair := range e.environ {
		if name, value, _ := strings.Cut(pair, "="); (name == "NO_COLOR" && value != "") || pair == "TERM=dumb" {
			return false
		}
	}
	return terminal
}

// besideExecutable is the folder of this very file, links followed.
func besideExecutable() []string {
	path, err := os.Executable()
	if err != nil {
		return nil
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return []string{filepath.Dir(path)}
}
