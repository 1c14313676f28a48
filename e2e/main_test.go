package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/e2e/browser"
)

// bin is where the binaries under test are; run is what tells this run's
// names, and its binaries' version, from those of others.
var bin, run string

func TestMain(m *testing.M) {
	os.Exit(mainCode(m))
}

func mainCode(m *testing.M) int {
	dir, err := os.MkdirTemp("", "toskose-e2e-")
	if err == nil {
		defer os.RemoveAll(dir)
		bin, run = dir, "e2e-"+random()
		if err = os.Setenv("TOSKOSE_CONFIG", filepath.Join(dir, "config")); err == nil { // not the user's own
			err = build()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	flag.Parse()
	// Applications are waited for more than they compute.
	if err := flag.Set("test.parallel", "5"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	browser.Close()
	if ownSwarm.leave != nil {
		if err := ownSwarm.leave(); err != nil {
			fmt.Fprintf(os.Stderr, "cannot leave the swarm that the tests made: %v\n", err)
			return 1
		}
	}
	if left := removeImages(); len(left) > 0 {
		fmt.Fprintf(os.Stderr, "the tests left images behind: %s\n", strings.Join(left, " "))
		return 1
	}
	return code
}

func random() string {
	b := make([]byte, 4)
	_, _ = rand.Read(b) // never fails (go doc crypto/rand)
	return hex.EncodeToString(b)
}

// build makes the binaries as make build does, of the tree as it is now.
func build() error {
	for _, words := range [][]string{
		{"make", "build", "BIN=" + bin, "VERSION=" + run, "PROGRAMS=toskose-unit toskose-manager"},
		{"go", "build", "-trimpath", "-o", filepath.Join(bin, "zipcsar"), "./scripts/zipcsar"},
	} {
		cmd := exec.CommandContext(context.Background(), words[0], words[1:]...)
		cmd.Dir = ".."
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("cannot build the binaries: %w\n%s", err, out)
		}
	}
	return nil
}

// result is how a command ended.
type result struct {
	code           int
	stdout, stderr string
}

func (r result) String() string {
	return fmt.Sprintf("code %d\nstdout:\n%s\nstderr:\n%s", r.code, r.stdout, r.stderr)
}

// command runs one of the binaries, or any command by its path.
func command(t *testing.T, dir, name string, args ...string) result {
	t.Helper()
	return commandWith(t, nil, dir, name, args...)
}

// commandWith is command with more variables in the environment.
func commandWith(t *testing.T, env []string, dir, name string, args ...string) result {
	t.Helper()
	if !strings.Contains(name, "/") {
		name = filepath.Join(bin, name)
	}
	// Not the test's context: what cleans up runs when that has ended.
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	cmd.Env = append(cmd.Environ(), env...)
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatalf("cannot run %s: %v", name, err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// must runs a command that has to succeed.
func must(t *testing.T, dir, name string, args ...string) result {
	t.Helper()
	return mustWith(t, nil, dir, name, args...)
}

// mustWith is must with more variables in the environment.
func mustWith(t *testing.T, env []string, dir, name string, args ...string) result {
	t.Helper()
	r := commandWith(t, env, dir, name, args...)
	if r.code != 0 {
		t.Fatalf("%s %s: %v", name, strings.Join(args, " "), r)
	}
	return r
}

// eventually waits until a condition holds, and says what it waited for when
// it never does.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(3 * time.Minute)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("waited three minutes in vain until %s", what)
		case <-tick.C:
		}
	}
}
