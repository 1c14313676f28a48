package proctree

import (
	"maps"
	"sync"
)

// id is a process for good: a pid alone is used again, but not within the
// clock tick that the process was forked in.
type id struct {
	pid   int
	start uint64
}

// owner is the program that a process group or a session was known to be of.
type owner struct {
	program Program
	look    uint64 // the look that knew it last
	seen    uint64 // when that was, in ticks as start times count
}

// memory is what earlier looks knew: the third mark.
type memory struct {
	mu        sync.Mutex
	look      uint64
	processes map[int]*entry // the claimed ones, by pid; they do not change any more
	strange   bool           // the last look found some that nothing claims
	groups    map[int]owner
	sessions  map[int]owner
}

// begin counts the looks at /proc.
func (m *memory) begin() (look uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.look++
	return m.look
}

// forked remembers the process group that a program's first process leads.
func (m *memory) forked(pid int, program Program) {
	seen, _ := now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.groups == nil {
		m.groups = map[int]owner{}
	}
	// Of the look that may be under way, so that it does not forget what it
	// came too early to see.
	m.groups[pid] = owner{program: program, look: m.look, seen: seen}
}

// process is the program that claimed this very process before.
func (m *memory) process(id id) Program {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.processes[id.pid]; e != nil && e.start == id.start {
		return e.program
	}
	return Unclaimed
}

// recall gives the process that was claimed when the pid was seen last, nil
// where none was.
func (m *memory) recall(pid int) *entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.processes[pid]
}

// strangers tells whether the last look found processes that nothing claims.
func (m *memory) strangers() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.strange
}

// kin is the program that this group, or else this session, was known to be
// of; 0 is none. leader finds the living process of a pid: one that was forked
// after the group was last seen leads another group of the same number.
func (m *memory) kin(pgid, sid int, leader func(pid int) (stat, bool)) Program {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, known := range []struct {
		number int
		owners map[int]owner
	}{{pgid, m.groups}, {sid, m.sessions}} {
		o, ok := known.owners[known.number]
		if !ok {
			continue
		}
		if l, alive := leader(known.number); alive && l.start > o.seen {
			continue
		}
		return o.program
	}
	return Unclaimed
}

// learn takes over what a look found, and forgets what has ended.
func (m *memory) learn(v *view) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.processes == nil {
		m.processes = map[int]*entry{}
	}
	groups, sessions, claimed := map[int]bool{}, map[int]bool{}, 0
	for _, e := range v.entries {
		groups[e.pgid], sessions[e.sid] = true, true
		if e.program != Unclaimed {
			m.processes[e.pid] = e
			claimed++
		}
	}
	m.strange = claimed < len(v.entries)
	if len(m.processes) > claimed {
		maps.DeleteFunc(m.processes, func(pid int, e *entry) bool { return v.find(pid) != e })
	}
	m.groups = relearn(m.groups, v.groups, groups, v)
	m.sessions = relearn(m.sessions, v.sessions, sessions, v)
}

func relearn(old map[int]owner, found map[int]Program, exist map[int]bool, v *view) map[int]owner {
	owners := make(map[int]owner, len(found))
	for number, o := range old {
		if exist[number] || o.look >= v.look {
			owners[number] = o
		}
	}
	for number, program := range found {
		if program == Unclaimed {
			delete(owners, number) // of two programs: proves nothing
		} else {
			owners[number] = owner{program: program, look: v.look, seen: v.seen}
		}
	}
	return owners
}
