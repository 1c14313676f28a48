package proctree

import "time"

// marked is the program that claims a process by a mark of its own, now or
// when it was looked at before.
func (t *Tree) marked(s *stat) Program {
	if program := t.memory.process(id{s.pid, s.start}); program != Unclaimed {
		return program
	}
	if t.unlimited == nil {
		if program := t.limited(s.pid); program != Unclaimed {
			return program
		}
	}
	if s.state == 'Z' {
		return Unclaimed // its environment is gone
	}
	return t.boot.inEnviron(t.environ(s.pid))
}

// environ reads the environment of a process that lives; nil: it is another
// user's. One that is just being executed has neither an environment nor a
// command line for a moment, which is waited for.
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

// bonds are the numbers of the process's group and session, 0 where they
// prove nothing: the unit's own, which its children have until they leave it,
// and those of outside the container, which are 0 already.
func (t *Tree) bonds(s *stat) (pgid, sid int) {
	pgid, sid = s.pgid, s.sid
	if pgid == t.pgid {
		pgid = 0
	}
	if sid == t.sid {
		sid = 0
	}
	return pgid, sid
}

// inherit claims what has no mark of its own but a claimed parent, or is in a
// process group or a session of claimed processes. One claim may lead to the
// next.
func (t *Tree) inherit(v *view) {
	leader := func(pid int) (stat, bool) {
		if e := v.byPID[pid]; e != nil {
			return e.stat, true
		}
		return stat{}, false
	}
	for {
		t.ownBonds(v)
		changed := false
		for _, e := range v.entries {
			if e.program != Unclaimed {
				continue
			}
			if e.program = v.byParent(e); e.program == Unclaimed {
				e.program = t.byBonds(v, e, leader)
			}
			changed = changed || e.program != Unclaimed
		}
		if !changed {
			return
		}
	}
}

// byParent is the program of the process's parent. A parent that is younger
// is another process, of a pid that was used again during the look.
func (v *view) byParent(e *entry) Program {
	if parent := v.byPID[e.ppid]; parent != nil && parent.start <= e.start {
		return parent.program
	}
	return Unclaimed
}

// byBonds is the program that the other members of the process's group, or
// else of its session, are claimed by, or were when they were last seen.
func (t *Tree) byBonds(v *view, e *entry, leader func(pid int) (stat, bool)) Program {
	pgid, sid := t.bonds(&e.stat)
	if program, claimed := v.groups[pgid]; program != Unclaimed {
		return program
	} else if claimed {
		pgid = 0 // by two programs
	}
	if program, claimed := v.sessions[sid]; program != Unclaimed {
		return program
	} else if claimed {
		sid = 0
	}
	return t.memory.kin(pgid, sid, leader)
}

// ownBonds finds the process groups and sessions that have claimed members,
// and the program where these are all of one.
func (t *Tree) ownBonds(v *view) {
	v.groups, v.sessions = map[int]Program{}, map[int]Program{}
	for _, e := range v.entries {
		if e.program == Unclaimed {
			continue
		}
		pgid, sid := t.bonds(&e.stat)
		agree(v.groups, pgid, e.program)
		agree(v.sessions, sid, e.program)
	}
}

func agree(owners map[int]Program, number int, program Program) {
	if number == 0 {
		return
	}
	if other, ok := owners[number]; ok && other != program {
		program = Unclaimed
	}
	owners[number] = program
}
