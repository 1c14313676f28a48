package proctree

import (
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// identity distinguishes a process from any other with the same pid, as its start time does, at a
// tenth of the cost: it is the number and birth time of the inode of /proc/PID. The kernel may
// assign a new inode to a live process, which is then read again; it never reuses the identity of
// another process.
type identity struct {
	inode  uint64
	sec    int64
	nanos  int64
	device uint64
}

// identity returns the identity of a process. ok is false if it does not exist.
func (p procfs) identity(pid int) (i identity, ok bool) {
	var s unix.Stat_t
	if err := unix.Lstat(p.root+"/"+strconv.Itoa(pid), &s); err != nil {
		return identity{}, false
	}
	return identity{s.Ino, int64(s.Ctim.Sec), int64(s.Ctim.Nsec), uint64(s.Dev)}, true //nolint:unconvert // 32 bits elsewhere
}

// recall returns a process that an earlier look claimed for a program outside asked, without
// reading it: only its identity, group and session are checked. nil means that it has to be read.
func (t *Tree) recall(pid int, asked []Program) *entry {
	known := t.memory.recall(pid)
	if known == nil || slices.Contains(asked, known.program) {
		return nil
	}
	pgid, err := unix.Getpgid(pid)
	if err != nil {
		return nil
	}
	sid, err := unix.Getsid(pid)
	if err != nil {
		return nil
	}
	// Last, to be sure that the numbers above are from this process.
	if now, ok := t.proc.identity(pid); !ok || now != known.identity {
		return nil
	}
	if pgid == known.pgid && sid == known.sid {
		return known
	}
	moved := *known
	moved.pgid, moved.sid = pgid, sid
	return &moved
}

// read reads a process, and returns nil if it has ended or is hidden from us.
func (t *Tree) read(pid int) *entry {
	e := &entry{}
	var err error
	if t.direct {
		// First: if the following reads concern another process, its identity will not match.
		var ok bool
		if e.identity, ok = t.proc.identity(pid); !ok {
			return nil
		}
	}
	if e.stat, err = t.proc.stat(pid); err != nil {
		return nil
	}
	return e
}

// quickLook reads only new processes and those of the programs in asked, and recalls the others. ok
// is false if a process has no mark, which only a full look can attribute.
func (t *Tree) quickLook(v *view, pids []int, asked []Program) (ok bool) {
	for _, pid := range pids {
		if e := t.recall(pid, asked); e != nil {
			v.entries = append(v.entries, e)
			continue
		}
		e := t.read(pid)
		if e == nil {
			v.missed = true
			continue
		}
		if e.ofKernel() {
			continue
		}
		if e.program = t.byMark(&e.stat); e.program == Unclaimed {
			return false
		}
		v.missed = v.missed || e.ended() && slices.Contains(asked, e.program)
		v.entries = append(v.entries, e)
	}
	t.correctCopiedMarks(v)
	t.findGroups(v)
	return true
}
