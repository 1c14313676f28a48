package proctree

import (
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// face tells one process from every other that has or had its pid, as its
// start time does, and is found in a tenth of the time: the number and the
// birth of the inode that /proc/PID has while the process exists. The kernel
// may draw another one for a process that lives on, which is then read anew;
// it never gives that of one process to another.
type face struct {
	inode  uint64
	sec    int64
	nanos  int64
	device uint64
}

// face looks at a process. ok is false where it does not exist.
func (p procfs) face(pid int) (f face, ok bool) {
	var s unix.Stat_t
	if err := unix.Lstat(p.root+"/"+strconv.Itoa(pid), &s); err != nil {
		return face{}, false
	}
	return face{s.Ino, int64(s.Ctim.Sec), int64(s.Ctim.Nsec), uint64(s.Dev)}, true //nolint:unconvert // 32 bits elsewhere
}

// recall gives a process that an earlier look has claimed for a program that
// this one does not ask for, without reading it: that it is still the same
// one, and which group and session it is in now, is all that counts of it. nil
// means that it has to be read.
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
	// Last, so that the numbers above are of this process, too.
	if now, ok := t.proc.face(pid); !ok || now != known.face {
		return nil
	}
	if pgid == known.pgid && sid == known.sid {
		return known
	}
	moved := *known
	moved.pgid, moved.sid = pgid, sid
	return &moved
}

// read reads a process. ok is false where it has ended, is hidden from us or
// is none.
func (t *Tree) read(pid int) (e *entry, ok bool) {
	e = &entry{}
	if t.direct {
		// Before all else: what is read later may be of another process, but
		// then the face of that one is never taken for this one.
		if e.face, ok = t.proc.face(pid); !ok {
			return nil, false
		}
	}
	var err error
	if e.stat, err = t.proc.stat(pid); err != nil || e.flags&kernelThread != 0 {
		return nil, false
	}
	return e, true
}

// glance is a look that reads only what is asked for and what is new; what was
// claimed for other programs it recalls. ok is false where something is there
// that bears no mark: whose that is, its kin tell, and a glance does not see them.
func (t *Tree) glance(v *view, pids []int, asked []Program) (ok bool) {
	for _, pid := range pids {
		if e := t.recall(pid, asked); e != nil {
			v.entries = append(v.entries, e)
			continue
		}
		e, exists := t.read(pid)
		if !exists {
			continue
		}
		if e.program = t.marked(&e.stat); e.program == Unclaimed {
			return false
		}
		v.entries = append(v.entries, e)
	}
	t.ownBonds(v)
	return true
}
