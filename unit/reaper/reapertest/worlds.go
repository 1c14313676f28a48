// Package reapertest runs tests as the unit runs: as PID 1 of a pid namespace with its own /proc,
// and as a subreaper. The test binary executes itself there, since only one place in a process may
// wait for children. The package also has helper programs for such tests.
package reapertest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// worldEnv is the variable with the world of the executed test binary.
const worldEnv = "REAPERTEST_WORLD"

// noExitDelay keeps the race detector from sleeping for a second when the process exits.
const noExitDelay = "GORACE=atexit_sleep_ms=0"

const (
	asInit      = "PID 1"
	asSubreaper = "subreaper"
)

// Main is a TestMain function: it runs the package's tests, or a helper program.
func Main(m *testing.M) {
	Help()
	if os.Getenv(worldEnv) == asInit {
		if err := mountProc(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(125) //nolint:revive // it stands for main
		}
	}
	os.Exit(m.Run()) //nolint:revive // it stands for main
}

// Help runs a helper program and exits if this process was executed as one. [Main] calls it; a
// TestMain that needs only helpers may call it directly.
func Help() {
	if len(os.Args) < 2 {
		return
	}
	run := map[string]func(args []string) error{helperArg: runHelper, relayArg: runRelay, siblingArg: runSibling}[os.Args[1]]
	if run == nil {
		return
	}
	if err := run(os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(125) //nolint:revive // it stands for main
	}
	// Unlike os.Exit, it does not sleep for a second with the race detector.
	syscall.Exit(0) //nolint:revive // it stands for main
}

// InWorlds runs body twice, as PID 1 and as a subreaper, each in a process of
// its own. t must be a top-level test; body is called with the t of the
// process that it runs in.
func InWorlds(t *testing.T, body func(t *testing.T)) {
	t.Helper()
	if os.Getenv(worldEnv) != "" {
		body(t)
		return
	}
	t.Run(asInit, func(t *testing.T) { elsewhere(t, asInit) })
	t.Run(asSubreaper, func(t *testing.T) { elsewhere(t, asSubreaper) })
}

// AsInit runs body as PID 1 only.
func AsInit(t *testing.T, body func(t *testing.T)) {
	t.Helper()
	if os.Getenv(worldEnv) != "" {
		body(t)
		return
	}
	elsewhere(t, asInit)
}

// elsewhere runs the test again in a process in another world, whose result becomes the result of t.
func elsewhere(t *testing.T, world string) {
	t.Helper()
	t.Parallel()
	name, _, _ := strings.Cut(t.Name(), "/")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+name+"$", "-test.v", "-test.count=1", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), worldEnv+"="+world, noExitDelay)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if world == asInit {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS
	}
	cmd.WaitDelay = time.Minute // where it died, what it left may keep its output open
	err := cmd.Run()
	if errors.Is(err, syscall.EPERM) {
		t.Skip("no test as PID 1: it needs the right to make a pid namespace (run as root, with CAP_SYS_ADMIN)")
	}
	if err != nil {
		t.Fatalf("as %s: %v\n%s", world, err, &output)
	}
	if bytes.Contains(output.Bytes(), []byte("\n--- SKIP: ")) || bytes.HasPrefix(output.Bytes(), []byte("--- SKIP: ")) {
		t.Skipf("as %s:\n%s", world, &output)
	}
}

// mountProc shows the processes of our own pid namespace, to us alone.
func mountProc() error {
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("cannot make mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("cannot mount /proc: %w", err)
	}
	return nil
}
