package proctree

import (
	"bytes"
	"errors"
	"slices"
	"sort"
	"strconv"
	"time"
)

// settleTime bounds how long a look follows new processes. Processes forked faster than they can be
// read would occupy it indefinitely.
const settleTime = 100 * time.Millisecond

// errUnsettled means that a look cannot prove that no processes are left, because processes are
// forked faster than they can be read.
var errUnsettled = errors.New("cannot determine whether processes are left: they are forked faster than they can be listed")

// settle turns a look that found no live process of the programs in asked into an exact one, or
// finds a process; last is the last allocated pid before the look. A process that forks and exits
// continues under a pid that the look has already passed, or that was allocated after it. So settle
// also reads two kinds of pids:
//
//   - If a process ended between being listed and being read, the pids that the list lacks. Such a
//     process may have been forking: its child has a pid but is not listed until the fork completes.
//   - All pids allocated since the look began, repeatedly until there are no new ones. They are read
//     in ascending order, so that a child is read after its parent: a child still being forked has a
//     live parent, which is found.
//
// If that takes longer than settleTime, the look is not exact.
func (t *Tree) settle(v *view, listed []int, last int, asked []Program) error {
	if v.missed {
		again, err := t.pids()
		if err != nil {
			return err
		}
		for _, pid := range again {
			if _, found := slices.BinarySearch(listed, pid); !found && t.addIfMember(v, pid, asked) {
				return nil
			}
		}
	}
	const rounds, most = 200, 1 << 14 // pids in a container may be limited to that
	end := time.Now().Add(settleTime)
	for range rounds {
		latest, known := t.lastPID()
		if v.exact = known && latest == last; v.exact {
			return nil
		}
		if !known || latest < last || latest-last > most {
			return nil // the pids wrapped around, or there are as many as a look reads
		}
		for pid := last + 1; pid <= latest; pid++ {
			if t.addIfMember(v, pid, asked) || time.Now().After(end) {
				return nil
			}
		}
		last = latest
	}
	return nil
}

// lastPID returns the pid that was allocated last; ok is false if the kernel does not show it.
func (t *Tree) lastPID() (pid int, ok bool) {
	if t.fakeLastPID != nil {
		return t.fakeLastPID()
	}
	return t.proc.lastPID()
}

// addIfMember adds a process to a look if it is alive and belongs to a program in asked.
func (t *Tree) addIfMember(v *view, pid int, asked []Program) bool {
	e := t.read(pid)
	if e == nil || e.ended() || e.ofKernel() || pid == t.self || v.find(pid) != nil {
		return false
	}
	if e.program = t.byMark(&e.stat); e.program == Unclaimed {
		if e.program = v.byParent(e); e.program == Unclaimed {
			e.program = t.byGroups(v, e, t.leader)
		}
	}
	if !slices.Contains(asked, e.program) || t.isThread(pid) || !t.init && !t.isDescendant(e) {
		return false
	}
	i := sort.Search(len(v.entries), func(i int) bool { return v.entries[i].pid >= pid })
	v.entries = slices.Insert(v.entries, i, e)
	return true
}

// isThread reports whether a number identifies a secondary thread. Threads share the number space
// of processes but are not listed.
func (t *Tree) isThread(pid int) bool {
	text, err := t.proc.read(pid, "status", make([]byte, 1024))
	if err != nil {
		return false
	}
	_, text, _ = bytes.Cut(text, []byte("\nTgid:"))
	group, _, _ := bytes.Cut(text, []byte("\n"))
	return string(bytes.TrimSpace(group)) != strconv.Itoa(pid)
}

// isDescendant reports whether the process descends from this one.
func (t *Tree) isDescendant(e *entry) bool {
	const deep = 1000 // parents may end, and their pids be reused
	s := e.stat
	for range deep {
		if s.ppid == t.self {
			return true
		}
		var err error
		if s, err = t.proc.stat(s.ppid); err != nil {
			return false
		}
	}
	return false
}

// leader finds the live process whose pid is the number of a group or session.
func (t *Tree) leader(pid int) (stat, bool) {
	s, err := t.proc.stat(pid)
	return s, err == nil
}
