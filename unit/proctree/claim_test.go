package proctree

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// proc is a process of a fake /proc.
type proc struct {
	pid, ppid, pgid, sid int
	start                uint64
	mark                 Program // in its limits
}

func (p fakeProc) put(tree *Tree, processes ...proc) {
	p.t.Helper()
	for _, q := range processes {
		line := statLine(q.pid, "p", "S", q.ppid, 1, q.start)
		line = strings.Replace(line, " 11 12 ", " "+strconv.Itoa(q.pgid)+" "+strconv.Itoa(q.sid)+" ", 1)
		p.write(q.pid, "stat", line)
		if q.mark != Unclaimed {
			p.write(q.pid, "limits", strings.ReplaceAll(limitsText, "MARK", strconv.FormatUint(tree.boot.mark(q.mark), 10)))
		}
	}
}

func (p fakeProc) remove(pids ...int) {
	p.t.Helper()
	for _, pid := range pids {
		if err := os.RemoveAll(p.dir + "/" + strconv.Itoa(pid)); err != nil {
			p.t.Fatal(err)
		}
	}
}

func programs(t *testing.T, tree *Tree) map[int]Program {
	t.Helper()
	found, err := tree.Scan()
	if err != nil {
		t.Fatal(err)
	}
	claims := map[int]Program{}
	for _, process := range found {
		claims[process.PID] = process.Program
	}
	return claims
}

func marking(t *testing.T, p fakeProc) *Tree {
	t.Helper()
	tree := p.tree()
	tree.unlimited = nil // the fake /proc cannot show the probe
	return tree
}

func TestKinOfTheClaimedAreClaimed(t *testing.T) {
	t.Parallel()
	p := newFakeProc(t)
	tree := marking(t, p)
	unit := os.Getpid()
	p.put(
		tree,
		proc{pid: 100, ppid: unit, pgid: 100, sid: tree.sid, start: 10, mark: 1},
		proc{pid: 101, ppid: 100, pgid: 101, sid: 101, start: 11},          // its child, which dropped its mark
		proc{pid: 102, ppid: 101, pgid: 102, sid: 102, start: 12},          // and a child of that
		proc{pid: 103, ppid: unit, pgid: 103, sid: 101, start: 13},         // orphan in the child's session
		proc{pid: 104, ppid: unit, pgid: 100, sid: tree.sid, start: 14},    // orphan in the group
		proc{pid: 105, ppid: unit, pgid: tree.pgid, sid: tree.sid},         // in the unit's own: proves nothing
		proc{pid: 106, ppid: 0, pgid: 0, sid: 0},                           // from outside the container
		proc{pid: 107, ppid: 102, pgid: 107, sid: 107, start: 4},           // older than its parent: of a pid used again
		proc{pid: 200, ppid: unit, pgid: 200, sid: 200, start: 1, mark: 2}, // of another program
	)
	want := map[int]Program{100: 1, 101: 1, 102: 1, 103: 1, 104: 1, 105: 0, 106: 0, 107: 0, 200: 2}
	for pid, program := range programs(t, tree) {
		if program != want[pid] {
			t.Errorf("process %d is claimed by %d, want %d", pid, program, want[pid])
		}
	}
}

func TestWhatWasKnownBeforeIsStillKnownWhenItsKinHaveEnded(t *testing.T) {
	t.Parallel()
	p := newFakeProc(t)
	tree := marking(t, p)
	unit := os.Getpid()
	p.put(
		tree,
		proc{pid: 100, ppid: unit, pgid: 100, sid: 100, start: 10, mark: 1},
		proc{pid: 101, ppid: 100, pgid: 101, sid: 101, start: 11},
	)
	programs(t, tree)
	p.remove(100)
	p.put(
		tree,
		proc{pid: 101, ppid: unit, pgid: 101, sid: 101, start: 11}, // known itself
		proc{pid: 102, ppid: unit, pgid: 102, sid: 100, start: 12}, // in a known session, whose members have ended
	)
	if got := programs(t, tree); got[101] != 1 || got[102] != 1 {
		t.Errorf("claims are %v, want all of program 1", got)
	}
}

func TestAPidThatIsUsedAgainInheritsNothing(t *testing.T) {
	t.Parallel()
	p := newFakeProc(t)
	tree := marking(t, p)
	unit := os.Getpid()
	p.put(tree, proc{pid: 100, ppid: unit, pgid: 100, sid: 100, start: 10, mark: 1})
	programs(t, tree)
	later, ok := now()
	if !ok {
		t.Fatal("no boot clock")
	}
	p.remove(100)
	p.put(tree, proc{pid: 100, ppid: unit, pgid: 100, sid: 100, start: later + 1000})
	if got := programs(t, tree); got[100] != Unclaimed {
		t.Errorf("the new process 100 is claimed by %d", got[100])
	}
}

func TestAGroupOfTwoProgramsProvesNothing(t *testing.T) {
	t.Parallel()
	p := newFakeProc(t)
	tree := marking(t, p)
	unit := os.Getpid()
	p.put(tree, proc{pid: 100, ppid: unit, pgid: 100, sid: 100, start: 10, mark: 1})
	programs(t, tree)
	p.put(
		tree,
		proc{pid: 101, ppid: unit, pgid: 100, sid: 100, start: 10, mark: 2},
		proc{pid: 102, ppid: unit, pgid: 100, sid: 100, start: 10},
	)
	if got := programs(t, tree); got[102] != Unclaimed {
		t.Errorf("claimed by %d", got[102])
	}
}

func TestTheGroupOfAProgramsFirstProcessIsKnownFromTheFork(t *testing.T) {
	t.Parallel()
	p := newFakeProc(t)
	tree := marking(t, p)
	tree.memory.forked(100, 3)
	p.put(tree, proc{pid: 101, ppid: os.Getpid(), pgid: 100, sid: tree.sid, start: 5})
	if got := programs(t, tree); got[101] != 3 {
		t.Errorf("claimed by %d, want 3", got[101])
	}
	p.remove(101)
	programs(t, tree)
	p.put(tree, proc{pid: 102, ppid: os.Getpid(), pgid: 100, sid: tree.sid, start: 5})
	if got := programs(t, tree); got[102] != Unclaimed {
		t.Errorf("a group that had ended still claims, for %d", got[102])
	}
}

func TestOnlyDescendantsExistForASubreaper(t *testing.T) {
	t.Parallel()
	p := newFakeProc(t)
	tree := marking(t, p)
	tree.init = false
	unit := os.Getpid()
	p.put(
		tree,
		proc{pid: 100, ppid: unit, pgid: 100, sid: 100, start: 10, mark: 1},
		proc{pid: 101, ppid: 100, pgid: 100, sid: 100, start: 10},
		proc{pid: 900, ppid: 1, pgid: 900, sid: 900, start: 10},
		proc{pid: 901, ppid: 900, pgid: 900, sid: 900, start: 10, mark: 1},
		proc{pid: 902, ppid: 903, pgid: 900, sid: 900, start: 10}, // a circle, as a torn look may show
		proc{pid: 903, ppid: 902, pgid: 900, sid: 900, start: 10},
	)
	got := programs(t, tree)
	if len(got) != 2 || got[100] != 1 || got[101] != 1 {
		t.Errorf("found %v, want 100 and 101 of program 1", got)
	}
}
