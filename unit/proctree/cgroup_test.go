package proctree

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/toskose/toskose/internal/leak"
	"github.com/toskose/toskose/unit/reaper"
	"github.com/toskose/toskose/unit/reaper/reapertest"
)

// mountCgroups mounts cgroup v2 as a container has it whose cgroups are writable.
func mountCgroups(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount cgroups")
	}
	dir := t.TempDir()
	if err := syscall.Mount("cgroup2", dir, "cgroup2", 0, ""); err != nil {
		t.Skipf("no cgroup v2 can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	// All worlds see the same cgroups, and a unit removes those that no process is in.
	lock, err := os.Open(os.TempDir())
	if err == nil {
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Close() })
	return dir
}

// Both components have the same user, and the forger leaves its parent and its session at
// once: nothing but its cgroup tells whose it is.
func TestACgroupOutweighsCopiedMarks(t *testing.T) {
	reapertest.InWorlds(t, func(t *testing.T) {
		dir := mountCgroups(t)
		t.Cleanup(func() { leak.None(t) })
		w := newWorldWith(t, Options{Cgroup: dir})
		if w.cgroups.off != nil {
			t.Fatal(w.cgroups.off)
		}
		folder := w.cgroups.folder
		t.Cleanup(func() {
			for _, file := range w.cgroups.opened {
				file.Close()
			}
		})
		start := func(program Program, argv []string) int {
			name := fmt.Sprint(program)
			w.Describe(program, program, name, 12345)
			_, out := w.startSpec(reaper.Spec{
				Around: w.Around(program, program), Cgroup: w.Cgroup(name),
				Env:        append(w.Env(program, name, "Standard.start"), "PATH="+os.Getenv("PATH")),
				Credential: &syscall.Credential{Uid: 12345, Gid: 12345},
			}, argv)
			return out.pid()
		}
		start(victim, reapertest.Shell("echo $$; exec sleep 100000"))
		w.wantForger(t, start(forger, w.forging("setsid -f", "")))
		bare := start(forger, reapertest.Shell("setsid -f env -i prlimit --rttime=1000000: sh -c 'echo 0x33 > /proc/self/coredump_filter; echo $$; exec sleep 100000'"))
		if p := w.find(bare); p.Program != forger {
			t.Errorf("without any mark it is claimed by %d", p.Program)
		}
		w.end(patience, victim, forger)
		removeCgroups(dir)
		if _, err := os.Stat(folder); err == nil {
			t.Errorf("%s is left", folder)
		}
	})
}

func TestWithoutACgroupThatCanBeWrittenThereAreMarksOnly(t *testing.T) {
	tree, err := New(Options{Cgroup: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	tree.Describe(1, 1, "api", 0)
	if fd := tree.Cgroup("api"); fd != 0 || tree.cgroups.off == nil {
		t.Errorf("the component has the cgroup %d, %v", fd, tree.cgroups.off)
	}
}
