package proctree

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sort"
	"strconv"
	"time"
)

// settleTime bounds how long a look follows new processes. Processes that are forked
// faster than they can be read would keep it busy without end.
const settleTime = 100 * time.Millisecond

// errUnsettled is why a look cannot say that nothing is left: processes were
// forked faster than they could be read.
var errUnsettled = errors.New("cannot tell whether processes are left: they are forked faster than they can be seen")

// settle makes a look that found no live process of the programs asked for an
// exact one, or finds one; last is the pid that was allocated last before the
// look. A process that forks and ends passes its life on to a pid that the look
// has passed already, or that came into being after it. So two kinds of pids are
// read that the look has not read:
//
//   - Where a process ended between being listed and being read, those that the
//     list lacks. Such a process may have been forking: its child has a pid, but
//     is not listed until the fork is done.
//   - All that were allocated since the look began, and since those were read,
//     until none is. They are read in ascending order, so that a child is read
//     after its parent: what is still being forked has a parent that is alive,
//     and that parent is found.
//
// Where that takes longer than settleTime, the look is not exact.
func (t *Tree) settle(v *view, listed []int, last int, asked []Program) error {
	if v.missed {
		again, err := t.pids()
		if err != nil {
			return err
		}
		for _, pid := range again {
			if _, found := slices.BinarySearch(listed, pid); !found && t.join(v, pid, asked) {
				return nil
			}
		}
	}
	const rounds, most = 200, 1 << 14 // a container's pids may be no more than that
	end := time.Now().Add(settleTime)
	for range rounds {
		latest, known := t.lastPID()
		if v.exact = known && latest == last; v.exact {
			return nil
		}
		if !known || latest < last || latest-last > most {
			return nil // the numbers began again, or it is a look's worth
		}
		for pid := last + 1; pid <= latest; pid++ {
			if t.join(v, pid, asked) || time.Now().After(end) {
				return nil
			}
		}
		last = latest
	}
	return nil
}

// lastPID returns the pid that was allocated last; ok is false if the kernel does not show it.
func (t *Tree) lastPID() (pid int, ok bool) {
	if t.allocated != nil {
		return t.allocated()
	}
	return t.proc.lastPID()
}

// join adds a process to a look, if it is alive and belongs to a program asked
// for.
func (t *Tree) join(v *view, pid int, asked []Program) bool {
	e := t.read(pid)
	if e == nil || e.ended() || e.ofKernel() || pid == t.self || v.find(pid) != nil {
		return false
	}
	if e.program = t.byMark(&e.stat); e.program == Unclaimed {
		if e.program = v.byParent(e); e.program == Unclaimed {
			e.program = t.byGroups(v, e, t.leader)
		}
	}
	if !slices.Contains(asked, e.program) || t.isThread(pid) || !t.init && !t.descends(e) {
		return false
	}
	i := sort.Search(len(v.entries), func(i int) bool { return v.entries[i].pid >= pid })
	v.entries = slices.Insert(v.entries, i, e)
	return true
}

// isThread reports whether a number is that of a thread beside the first of its
// process. Threads are numbered as processes are, but not listed.
func (t *Tree) isThread(pid int) bool {
	text, err := t.proc.read(pid, "status", make([]byte, 1024))
	if err != nil {
		return false
	}
	_, text, _ = bytes.Cut(text, []byte("\nTgid:"))
	group, _, _ := bytes.Cut(text, []byte("\n"))
	return string(bytes.TrimSpace(group)) != strconv.Itoa(pid)
}

// descends reports whether this process is an ancestor.
func (t *Tree) descends(e *entry) bool {
	const deep = 1000 // parents may end, and their numbers be reused
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

// leader finds the live process of a number that is a group's or a session's, too.
func (t *Tree) leader(pid int) (stat, bool) {
	s, err := t.proc.stat(pid)
	return s, err == nil
}

// pause waits, or until ctx is done.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
