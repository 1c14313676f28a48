package proctree

import "time"

// byMark returns the program of a process as known from an earlier look, or as named by its mark if
// the mark can be true.
func (t *Tree) byMark(s *stat) Program {
	if program := t.memory.process(id{s.pid, s.start}); program != Unclaimed {
		return program
	}
	return t.verifyMark(s, t.programOfMark(s))
}

// programOfMark returns the program that a process's own mark names.
func (t *Tree) programOfMark(s *stat) Program {
	if t.noLimitMark == nil {
		if program := t.byLimit(s.pid); program != Unclaimed && !t.contradictsCoreMark(s.pid, program) {
			return program
		}
	}
	if s.state == 'Z' {
		return Unclaimed // a zombie has no environment and no filter
	}
	if program := t.boot.inEnviron(t.environ(s.pid)); program != Unclaimed {
		return program
	}
	return t.byCore(s.pid)
}

// environ reads the environment of a live process, or returns nil for another user's. During exec a
// process briefly has neither environment nor command line; environ waits for the end of that.
func (t *Tree) environ(pid int) []byte {
	const looks, pause = 10, 2 * time.Millisecond
	for look := range looks {
		if look > 1 {
			time.Sleep(pause)
		}
		text, err := t.proc.environ(pid)
		if err != nil || len(text) > 0 {
			return text
		}
		s, err := t.proc.stat(pid)
		if err != nil || s.ended() {
			return nil
		}
		line, err := t.proc.read(pid, "cmdline", make([]byte, 1))
		if err != nil || len(line) > 0 && look > 0 {
			return nil
		}
	}
	return nil
}

// groupAndSession returns the process's group and session, or 0 where they prove nothing: the
// unit's own, which children have until they leave it, and those from outside the container, which
// are 0 already.
func (t *Tree) groupAndSession(s *stat) (pgid, sid int) {
	pgid, sid = s.pgid, s.sid
	if pgid == t.pgid {
		pgid = 0
	}
	if sid == t.sid {
		sid = 0
	}
	return pgid, sid
}

// inherit claims processes without a mark that have a claimed parent, or share a process group or
// session with claimed processes. It repeats until no more can be claimed.
func (t *Tree) inherit(v *view) {
	leader := func(pid int) (stat, bool) {
		if e := v.byPID[pid]; e != nil {
			return e.stat, true
		}
		return stat{}, false
	}
	for {
		t.findGroups(v)
		changed := false
		for _, e := range v.entries {
			if e.program != Unclaimed {
				continue
			}
			if e.program = v.byParent(e); e.program == Unclaimed {
				e.program = t.byGroups(v, e, leader)
			}
			changed = changed || e.program != Unclaimed
		}
		if !changed {
			return
		}
	}
}

// byParent returns the program of the process's parent. A parent younger than its child is another
// process with a reused pid.
func (v *view) byParent(e *entry) Program {
	if parent := v.find(e.ppid); parent != nil && parent.start <= e.start {
		return parent.program
	}
	return Unclaimed
}

// byGroups returns the program of the other members of the process's group, or else of its session,
// now or when last seen.
func (t *Tree) byGroups(v *view, e *entry, leader func(pid int) (stat, bool)) Program {
	pgid, sid := t.groupAndSession(&e.stat)
	if program, claimed := v.groups[pgid]; program != Unclaimed {
		return program
	} else if claimed {
		pgid = 0 // shared by two programs
	}
	if program, claimed := v.sessions[sid]; program != Unclaimed {
		return program
	} else if claimed {
		sid = 0
	}
	return t.memory.byGroupOrSession(pgid, sid, leader)
}

// findGroups finds the process groups and sessions with claimed members, and
// their program if all of them belong to one.
func (t *Tree) findGroups(v *view) {
	v.groups, v.sessions = map[int]Program{}, map[int]Program{}
	for _, e := range v.entries {
		if e.program == Unclaimed {
			continue
		}
		pgid, sid := t.groupAndSession(&e.stat)
		setOwner(v.groups, pgid, e.program)
		setOwner(v.sessions, sid, e.program)
	}
}

func setOwner(owners map[int]Program, number int, program Program) {
	if number == 0 {
		return
	}
	if other, ok := owners[number]; ok && other != program {
		program = Unclaimed
	}
	owners[number] = program
}
