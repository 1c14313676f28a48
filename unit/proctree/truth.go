package proctree

import (
	"bytes"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
)

// Any process can copy the marks of another component by reading them in /proc and setting its own
// limit, filter and environment. This file decides whether a mark can be true.

// components maps programs to their components.
type components struct {
	mixed atomic.Bool // their users differ

	mu        sync.Mutex
	byProgram map[Program]*component
	byName    map[string]*component
}

// component is a component that programs belong to.
type component struct {
	program Program // its representative
	users   []int   // current and former users of its programs
}

// Describe records the component and the user of a program that is about to be started. A process
// whose component is known but not its program is attributed to representative; Unclaimed stands
// for the described program. A program that was not described may have any user.
func (t *Tree) Describe(program, representative Program, name string, uid int) {
	c := &t.components
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byProgram == nil {
		c.byProgram, c.byName = map[Program]*component{}, map[string]*component{}
	}
	one := c.byName[name]
	if one == nil {
		one = &component{program: program}
		c.byName[name] = one
	}
	if c.byProgram[program] = one; representative != Unclaimed {
		one.program = representative
	}
	if !slices.Contains(one.users, uid) {
		one.users = append(one.users, uid)
	}
	for _, other := range c.byName {
		if len(other.users) > 1 || other.users[0] != uid {
			c.mixed.Store(true)
		}
	}
}

// sameComponent reports whether two programs belong to the same component, or one of them to no
// known component.
func (t *Tree) sameComponent(a, b Program) bool {
	if a == b {
		return true
	}
	t.components.mu.Lock()
	defer t.components.mu.Unlock()
	x, y := t.components.byProgram[a], t.components.byProgram[b]
	return x == nil || y == nil || x == y
}

// verifyMark returns the program of a process that has the mark of a program: the same if the mark
// can be true, otherwise the only one that the process can belong to, or Unclaimed.
func (t *Tree) verifyMark(s *stat, marked Program) Program {
	if program, ok := t.byCgroup(s.pid, marked); ok {
		return program
	}
	if marked == Unclaimed {
		return Unclaimed
	}
	if s.ppid > 0 && s.ppid != t.self {
		parent := t.memory.recall(s.ppid)
		switch known := parent != nil && parent.start <= s.start; {
		case known && t.sameComponent(parent.program, marked):
			return marked
		case known && t.alive(parent.id()):
			return parent.program
		}
	}
	if before := t.sessionOwner(s); !t.sameComponent(before, marked) {
		return before
	}
	return t.verifyByUser(s.pid, marked)
}

// sessionOwner returns the known program of a process's session. The group proves nothing here,
// since a process can join that of another component.
func (t *Tree) sessionOwner(s *stat) Program {
	if _, sid := t.groupAndSession(s); sid != 0 && sid != s.pid && t.memory.knowsSession(sid) {
		return t.memory.byGroupOrSession(0, sid, t.leader)
	}
	return Unclaimed
}

// correctCopiedMarks attributes processes with the mark of one component to the component of their
// parent if these differ: children have their parent's marks unless they changed them.
func (t *Tree) correctCopiedMarks(v *view) {
	for changed := true; changed; {
		changed = false
		for _, e := range v.entries {
			parent := v.byParent(e)
			if e.program == Unclaimed || parent == Unclaimed || t.sameComponent(parent, e.program) {
				continue
			}
			if t.memory.process(e.id()) == Unclaimed {
				e.program, changed = parent, true
			}
		}
	}
}

// verifyByPID verifies a mark by the cgroup and the users of a process.
func (t *Tree) verifyByPID(pid int, marked Program) Program {
	if program, ok := t.byCgroup(pid, marked); ok {
		return program
	}
	return t.verifyByUser(pid, marked)
}

// verifyByUser verifies a mark by the users of the process. An unprivileged process keeps its user
// even if it copies marks. Root, or a user of no component, may result from su or sudo.
func (t *Tree) verifyByUser(pid int, marked Program) Program {
	if !t.components.mixed.Load() {
		return marked
	}
	users := t.proc.users(pid)
	c := &t.components
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.byProgram[marked]
	if one == nil || slices.Contains(users, 0) || one.hasAny(users) {
		return marked
	}
	var others []*component
	for _, other := range c.byName {
		if other.hasAny(users) {
			others = append(others, other)
		}
	}
	switch len(others) {
	case 0:
		return marked
	case 1:
		return others[0].program
	}
	return Unclaimed
}

func (c *component) hasAny(users []int) bool {
	return slices.ContainsFunc(users, func(uid int) bool { return slices.Contains(c.users, uid) })
}

// users returns the real, effective and saved user of a process, or nil if it has ended.
func (p procfs) users(pid int) []int {
	text, err := p.read(pid, "status", make([]byte, statusHead))
	if err != nil {
		return nil
	}
	_, line, _ := bytes.Cut(text, []byte("\nUid:"))
	line, _, _ = bytes.Cut(line, []byte("\n"))
	var all []int
	for i, field := range bytes.Fields(line) {
		const kinds = 3 // the fourth is the file system user
		if uid, err := strconv.Atoi(string(field)); err == nil && i < kinds {
			all = append(all, uid)
		}
	}
	return all
}

// statusHead is how much of /proc/PID/status contains the line of the users.
const statusHead = 1024
