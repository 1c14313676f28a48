// Package testunit is where tests get toskose-unit from. `make test` builds it
// once, before all tests, and hands on where; a test that is run by itself has
// make build it then.
package testunit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// EndsAtOnce is for the environment of a process that has the race detector: it
// sleeps for a second when it exits, otherwise.
const EndsAtOnce = "GORACE=atexit_sleep_ms=0"

// A build of the unit has an environment variable that names the binary, and a
// target of the Makefile that builds it.
type build struct{ env, target string }

var (
	shipped = build{"TOSKOSE_TEST_UNIT", "build/test/toskose-unit"}
	raced   = build{"TOSKOSE_TEST_UNIT_RACE", "build/test/toskose-unit-race"}
)

// Shipped returns the path of the unit as built for release.
func Shipped(t testing.TB) string {
	t.Helper()
	path, err := shipped.path(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// AsStrict returns the path of a unit built like the test: with the race detector if the test uses
// it, else as built for release.
func AsStrict(ctx context.Context) (string, error) {
	if race {
		return raced.path(ctx)
	}
	return shipped.path(ctx)
}

func (b build) path(ctx context.Context) (string, error) {
	if path := os.Getenv(b.env); path != "" {
		_, err := os.Stat(path) // go test runs a test anew when a file it looked at has changed
		return path, err
	}
	top, err := root()
	if err != nil {
		return "", err
	}
	if out, err := exec.CommandContext(ctx, "make", "-C", top, b.target).CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build %s: %w\n%s", b.target, err, out)
	}
	return filepath.Join(top, b.target), nil
}

// root returns the folder of the repository, at or above the one that the test
// runs in.
func root() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			err = errors.New("no go.work here or above")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}
