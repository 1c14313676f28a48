//go:build chaos

package e2e

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/volume"
)

// interruptions interrupts commands that change an application at random moments.
type interruptions struct {
	*application
	random  *rand.Rand
	moments int    // of each command
	work    string // has the folders of releases, and no temporary files between two commands
	temp    string // of the commands
	table   []string
}

// interrupted is one of the commands.
type interrupted struct {
	name    string
	prepare func(*testing.T)
	words   func() []string
	reached func(*testing.T) // checks the state that the command is for
	removed bool             // nothing of the application is left then
}

// TestInterruptedCommands interrupts each command at TOSKOSE_CHAOS_MOMENTS random moments (30), by a signal to the process
// or to its group, and runs the same command again. TOSKOSE_CHAOS_SEED=N repeats the moments of another run, and
// TOSKOSE_CHAOS_COMMANDS names the commands, separated by commas.
func TestInterruptedCommands(t *testing.T) {
	engine := dockerEngine(t)
	if err := bring("busybox:1.36"); err != nil {
		t.Fatal(err)
	}
	seed := number(t, "TOSKOSE_CHAOS_SEED", int(time.Now().Unix()))
	t.Logf("TOSKOSE_CHAOS_SEED=%d", seed)
	target, flags := cmp.Or(os.Getenv("TOSKOSE_CHAOS_TARGET"), byCompose), []string(nil)
	if target == onSwarm {
		joinSwarm(t, engine)
		flags = forSwarm
	}
	app := packageIt(t, engine, "testdata/commands", []string{pagesPort}, flags...)
	app.target = target
	c := &interruptions{
		application: app, work: filepath.Dir(app.dir), temp: t.TempDir(),
		random: rand.New(rand.NewPCG(uint64(seed), 0)), moments: number(t, "TOSKOSE_CHAOS_MOMENTS", 30),
	}
	t.Cleanup(func() { app.undeploy(t) })
	t.Cleanup(func() { c.publish(t) })
	chosen := os.Getenv("TOSKOSE_CHAOS_COMMANDS")
	for _, command := range c.commands(t) {
		if chosen == "" || slices.Contains(strings.Split(chosen, ","), command.name) {
			c.interrupt(t, command)
		}
	}
}

func number(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// commands are the commands, in the order in which they are interrupted.
func (c *interruptions) commands(t *testing.T) []interrupted {
	t.Helper()
	zero, first, second := c.dir, c.packageRelease(t, "first"), c.packageRelease(t, "second")
	for _, dir := range []string{zero, first, second} {
		c.succeeds(t, c.deploying(dir, "--up")...)
	}
	fresh, backup := filepath.Join(c.work, "fresh"), filepath.Join(c.work, "backup.tar")
	shows := func(release string) func(*testing.T) { return func(t *testing.T) { t.Helper(); c.shows(t, release) } }
	deployed := func(dir string) func(*testing.T) {
		return func(t *testing.T) { t.Helper(); c.succeeds(t, c.deploying(dir, "--up")...) }
	}
	packaging := slices.Clone(c.packaging)
	packaging[slices.Index(packaging, c.dir)] = fresh
	runs := func(t *testing.T) {
		t.Helper()
		c.succeeds(t, "wait", "--timeout", patience, "--dir", first)
		c.shows(t, "first")
	}
	return []interrupted{
		{
			name:    "package",
			prepare: func(t *testing.T) { _ = os.RemoveAll(fresh) },
			words:   func() []string { return packaging },
			reached: func(t *testing.T) { c.sameFiles(t, zero, fresh) },
		},
		{name: "deploy", prepare: deployed(first), words: func() []string { return c.deploying(second, "--up") }, reached: shows("second")},
		{
			name: "deploy --rollback", prepare: deployed(second),
			words: func() []string { return c.deploying(second, "--rollback", "--up") }, reached: shows("first"),
		},
		{
			name: "up",
			prepare: func(t *testing.T) {
				deployed(first)(t)
				c.succeeds(t, "down", "--timeout", patience, "--dir", first)
			},
			words: func() []string { return []string{"up", "--timeout", patience, "--dir", first} }, reached: runs,
		},
		{name: "rotate", prepare: deployed(first), words: func() []string { return c.there(first, "rotate") }, reached: runs},
		{
			name: "undeploy", prepare: deployed(first), removed: true,
			words:   func() []string { return c.there(first, "undeploy", "--volumes", "--timeout", patience) },
			reached: func(*testing.T) {},
		},
		{
			name: "volume backup",
			prepare: func(t *testing.T) {
				deployed(first)(t)
				_ = os.Remove(backup)
			},
			words: func() []string { return []string{"volume", "backup", "--stop", "--force", first, backup} },
			reached: func(t *testing.T) {
				runs(t)
				if out := must(t, "", found(t, "tar"), "-tf", backup).stdout; !strings.Contains(out, "kept") {
					t.Errorf("the backup lacks a file: %s", out)
				}
			},
		},
		{
			name: "volume restore",
			prepare: func(t *testing.T) {
				deployed(first)(t)
				if _, err := os.Stat(backup); err != nil {
					c.succeeds(t, "volume", "backup", "--stop", first, backup)
				}
			},
			words: func() []string { return []string{"volume", "restore", "--stop", first, backup} },
			reached: func(t *testing.T) {
				runs(t)
				if _, kept := c.fetch(t, "GET", pagesPort, "/kept", ""); kept != "first\n" {
					t.Errorf("the volume has %q", kept)
				}
			},
		},
	}
}

// succeeds runs a command that is not interrupted.
func (c *interruptions) succeeds(t *testing.T, words ...string) {
	t.Helper()
	mustWith(t, c.environ(), "", "toskose", words...)
}

func (c *interruptions) environ() []string { return []string{"TMPDIR=" + c.temp} }

// interrupt interrupts one command, at moments of the time that it takes when it is not.
func (c *interruptions) interrupt(t *testing.T, command interrupted) {
	t.Helper()
	command.prepare(t)
	began := time.Now()
	c.succeeds(t, command.words()...)
	takes := time.Since(began)
	command.reached(t)
	failed, struck := 0, 0
	for i := range c.moments {
		name := fmt.Sprintf("%s, moment %d", command.name, i)
		if !t.Run(name, func(t *testing.T) {
			command.prepare(t)
			if c.strike(t, command, time.Duration(c.random.Int64N(int64(takes)))) {
				struck++
			}
			command.reached(t)
			c.nothingIsLeft(t, command.removed)
		}) {
			failed++
			c.startAgain(t)
		}
	}
	c.table = append(c.table, fmt.Sprintf("| %s | %.1f s | %d | %d | %d |", command.name, takes.Seconds(), c.moments, struck, failed))
}

// strike runs a command, and interrupts it. It reports whether the command was running: then it is run again.
func (c *interruptions) strike(t *testing.T, command interrupted, after time.Duration) bool {
	t.Helper()
	signals := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL}
	signal, group := signals[c.random.IntN(len(signals))], c.random.IntN(2) == 0
	cmd := exec.CommandContext(contextAfter(t), filepath.Join(bin, "toskose"), command.words()...)
	var out bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), c.environ()...), &out, &out
	cmd.SysProcAttr, cmd.WaitDelay = &syscall.SysProcAttr{Setpgid: true}, time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	moment, cancel := context.WithTimeout(t.Context(), after)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Fatalf("it was not interrupted, and ends with %v:\n%s", err, out.String())
		}
		return false
	case <-moment.Done():
	}
	pid := cmd.Process.Pid
	if group {
		pid = -pid
	}
	_ = syscall.Kill(pid, signal) // it may have ended just now
	if err := <-ended; err == nil {
		return false
	}
	again := commandWith(t, c.environ(), "", "toskose", command.words()...)
	if again.code != 0 {
		t.Errorf("after %s to %d at %s of the command, which said\n%s\nthe same again ends with %v", signal, pid, after, out.String(), again)
	}
	t.Logf("%s to %d after %s", signal, pid, after)
	return true
}

// nothingIsLeft looks for what a command that was interrupted has left behind.
func (c *interruptions) nothingIsLeft(t *testing.T, removed bool) {
	t.Helper()
	if left := c.locks(t); len(left) > 0 {
		t.Errorf("locks are left: %q", left)
	}
	containers, err := c.engine.ContainerList(t.Context(), container.ListOptions{All: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range containers {
		ours := strings.Contains(strings.Join(one.Names, " "), c.name) || one.Labels["io.toskose.app"] == c.name
		if service := one.Labels["com.docker.compose.service"]; ours && (removed || c.target == byCompose && (service == "" || one.State != container.StateRunning)) {
			t.Errorf("container %q is left: %s", one.Names, one.Status)
			if service == "" { // the next moments are not blamed for it
				_ = c.engine.ContainerRemove(t.Context(), one.ID, container.RemoveOptions{Force: true})
			}
		}
	}
	want := []string{c.name + "_box-documents", c.name + "_datavolume"}
	if removed {
		want = nil
		if names := madeFor(t, c.application); len(names) > 0 {
			t.Errorf("%q are left", names)
		}
	}
	all, err := c.engine.VolumeList(t.Context(), volume.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range all.Volumes {
		if strings.Contains(v.Name, c.name) && !slices.Contains(want, v.Name) {
			t.Errorf("volume %s is left", v.Name)
		}
	}
	for _, root := range []string{c.work, c.temp} {
		c.noTemporaryFiles(t, root)
	}
}

// noTemporaryFiles removes those that it reports: the next command is not blamed for them.
func (c *interruptions) noTemporaryFiles(t *testing.T, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root || root != c.temp && !strings.HasPrefix(d.Name(), ".") {
			return err
		}
		t.Errorf("%s is left", path)
		if err := os.RemoveAll(path); err != nil {
			return err
		}
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// sameFiles checks that a folder has what another one has that was packaged without an interruption.
func (c *interruptions) sameFiles(t *testing.T, want, dir string) {
	t.Helper()
	names := func(root string) (all []string) {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name, err := filepath.Rel(root, path)
			if d.Name() == "releases" || d.Name() == "mounted" { // a deployment has made it
				return fs.SkipDir
			}
			all = append(all, name)
			return err
		})
		if err != nil {
			t.Error(err)
		}
		return all
	}
	if a, b := names(want), names(dir); !slices.Equal(a, b) {
		t.Errorf("the folder has %q, want %q", b, a)
	}
}

// startAgain brings the application to a known state after a failure, so that the next moments say something.
func (c *interruptions) startAgain(t *testing.T) {
	t.Helper()
	command(t, "", "toskose", c.there(c.name, "undeploy", "--volumes", "--timeout", patience)...)
	secrets := os.DirFS(filepath.Join(c.dir, "secrets"))
	for _, dir := range []string{c.dir, filepath.Join(c.work, "first"), filepath.Join(c.work, "second")} {
		if dir != c.dir { // rotate may have replaced those of some folders only
			of := filepath.Join(dir, "secrets")
			if err := errors.Join(os.RemoveAll(of), os.CopyFS(of, secrets)); err != nil {
				t.Fatal(err)
			}
		}
		c.succeeds(t, c.deploying(dir, "--up", "--new-secrets")...)
	}
}

func (c *interruptions) publish(t *testing.T) {
	t.Helper()
	text := "| command | takes | moments | interrupted | failed |\n|---|---|---|---|---|\n" + strings.Join(c.table, "\n") + "\n"
	t.Log("\n" + text)
	if err := os.MkdirAll("../build", 0o755); err != nil {
		t.Error(err)
	}
	write(t, filepath.Join("..", "build", "chaos-commands-"+c.target+".md"), text)
}
