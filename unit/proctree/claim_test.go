package proctree

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// fake and above are numbers that Linux gives to no process, group or session,
// so that none of them is that of the test itself.
const fake = 1 << 22

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
	tree.noLimitMark = nil // the fake /proc cannot show the probe
	return tree
}

func TestKinOfTheClaimedAreClaimed(t *testing.T) {
	t.Parallel()
	p := newFakeProc(t)
	tree := marking(t, p)
	unit := os.Getpid()
	p.put(
		tree,
		proc{pid: fake + 100, ppid: unit, pgid: fake + 100, sid: tree.sid, start: 10, mark: 1},
		proc{pid: fake + 101, ppid: fake + 100, pgid: fake + 101, sid: fake + 101, start: 11},   // its child, which dropped its mark
		proc{pid: fake + 102, ppid: fake + 101, pgid: fake + 102, sid: fake + 102, start: 12},   // and a child of that
		proc{pid: fake + 103, ppid: unit, pgid: fake + 103, sid: fake + 101, start: 13},         // orphan in the child's session
		proc{pid: fake + 104, ppid: unit, pgid: fake + 100, sid: tree.sid, start: 14},           // orphan in the group
		proc{pid: fake + 105, ppid: unit, pgid: tree.pgid, sid: tree.sid},                       // in the unit's own: proves nothing
		proc{pid: fake + 106, ppid: 0, pgid: 0, sid: 0},                                         // from outside the container
		proc{pid: fake + 107, ppid: fake + 102, pgid: fake + 107, sid: fake + 107, start: 4},    // older than its parent: of a pid used again
		proc{pid: fake + 200, ppid: unit, pgid: fake + 200, sid: fake + 200, start: 1, mark: 2}, // of another program
	)
	want := map[int]Program{fake + 100: 1, fake + 101: 1, fake + 102: 1, fake + 103: 1, fake + 104: 1, fake + 105: 0, fake + 106: 0, fake + 107: 0, fake + 200: 2}
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
		proc{pid: fake + 100, ppid: unit, pgid: fake + 100, sid: fake + 100, start: 10, mark: 1},
		proc{pid: fake + 101, ppid: fake + 100, pgid: fake + 101, sid: fake + 101, start: 11},
	)
	programs(t, tree)
	p.remove(fake + 100)
	p.put(
		tree,
		proc{pid: fake + 101, ppid: unit, pgid: fake + 101, sid: fake + 101, start: 11}, // known itself
		proc{pid: fake + 102, ppid: unit, pgid: fake + 102, sid: fake + 100, start: 12}, // in a known session, whose members have ended
	)
	if got := programs(t, tree); got[fake+101] != 1 || got[fake+102] != 1 {
		t.Errorf("claims are %v, want all of program 1", got)
	}
}

func TestAPidThatIsUsedAgainInheritsNothing(t *testing.T) {
	t.Parallel()
	p := newFakeProc(t)
	tree := marking(t, p)
	unit := os.Getpid()
	p.put(tree, proc{pid: fake + 100, ppid: unit, pgid: fake + 100, sid: fake + 100, start: 10, mark: 1})
	programs(t, tree)
	later, ok := now()
	if !ok {
		t.Fatal("no boot clock")
	}
	p.remove(fake + 100)
	p.put(tree, proc{pid: fake + 100, ppid: unit, pgid: fake + 100, sid: fake + 100, start: later + 1000})
	if got := programs(t, tree); got[fake+100] != Unclaimed {
		t.Errorf("the new process 100 is claimed by %d", got[fake+100])
	}
}

func TestAGroupOfTwoProgramsProvesNothing(t *testing.T) {
	t.Parallel()
	p := newFakeProc(t)
	tree := marking(t, p)
	unit := os.Getpid()
	p.put(tree, proc{pid: fake + 100, ppid: unit, pgid: fake + 100, sid: fake + 100, start: 10, mark: 1})
	programs(t, tree)
	p.put(
		tree,
		proc{pid: fake + 101, ppid: unit, pgid: fake + 100, sid: fake + 100, start: 10, mark: 2},
		proc{pid: fake + 102, ppid: unit, pgid: fake + 100, sid: fake + 100, start: 10},
	)
	if got := programs(t, tree); got[fake+102] != Unclaimed {
		t.Errorf("claimed by %d", got[fake+102])
	}
}

func TestTheGroupOfAProgramsFirstProcessIsKnownFromTheFork(t *testing.T) {
	t.Parallel()
	p := newFakeProc(t)
	tree := marking(t, p)
	tree.memory.forked(fake+100, 3, 3)
	p.put(tree, proc{pid: fake + 101, ppid: os.Getpid(), pgid: fake + 100, sid: tree.sid, start: 5})
	if got := programs(t, tree); got[fake+101] != 3 {
		t.Errorf("claimed by %d, want 3", got[fake+101])
	}
	p.remove(fake + 101)
	programs(t, tree)
	p.put(tree, proc{pid: fake + 102, ppid: os.Getpid(), pgid: fake + 100, sid: tree.sid, start: 5})
	if got := programs(t, tree); got[fake+102] != Unclaimed {
		t.Errorf("a group that had ended still claims, for %d", got[fake+102])
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
		proc{pid: fake + 100, ppid: unit, pgid: fake + 100, sid: fake + 100, start: 10, mark: 1},
		proc{pid: fake + 101, ppid: fake + 100, pgid: fake + 100, sid: fake + 100, start: 10},
		proc{pid: fake + 900, ppid: 1, pgid: fake + 900, sid: fake + 900, start: 10},
		proc{pid: fake + 901, ppid: fake + 900, pgid: fake + 900, sid: fake + 900, start: 10, mark: 1},
		proc{pid: fake + 902, ppid: fake + 903, pgid: fake + 900, sid: fake + 900, start: 10}, // a circle, as a torn look may show
		proc{pid: fake + 903, ppid: fake + 902, pgid: fake + 900, sid: fake + 900, start: 10},
	)
	got := programs(t, tree)
	if len(got) != 2 || got[fake+100] != 1 || got[fake+101] != 1 {
		t.Errorf("found %v, want 100 and 101 of program 1", got)
	}
}
