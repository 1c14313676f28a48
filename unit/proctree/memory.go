package proctree

import (
	"errors"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// id identifies a process: a pid is reused, but not within the clock tick in which its process was
// forked.
type id struct {
	pid   int
	start uint64
}

// owner is the known program of a process group or session.
type owner struct {
	program Program
	look    uint64 // the last look that saw it
	seen    uint64 // time of that look, in ticks since boot
}

// memory remembers the owners of processes, groups and sessions from earlier looks. It recognises
// processes that have lost their marks.
type memory struct {
	mu        sync.Mutex
	look      uint64
	processes map[int]*entry // claimed processes by pid; immutable
	unclaimed bool           // the last look found unclaimed processes
	groups    map[int]owner
	sessions  map[int]owner
	forks     map[Program]*forks
	mains     map[int]Program // program by the pid it was last forked with
	added     int             // groups and processes since the last prune
}

// forks records the forks of a program's first processes.
type forks struct {
	main       int       // the last pid
	components []Program // representatives of its component
}

func newMemory() *memory {
	return &memory{
		processes: map[int]*entry{},
		groups:    map[int]owner{},
		sessions:  map[int]owner{},
		forks:     map[Program]*forks{},
		mains:     map[int]Program{},
	}
}

// begin numbers the looks at /proc.
func (m *memory) begin() (look uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.look++
	return m.look
}

// forked remembers a program's first process and the process group that it leads.
func (m *memory) forked(pid int, program, component Program) {
	seen, _ := now()
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.forks[program]
	if f == nil {
		f = &forks{}
		m.forks[program] = f
	}
	if m.mains[f.main] == program {
		delete(m.mains, f.main)
	}
	f.main, m.mains[pid] = pid, program
	if component != program && !slices.Contains(f.components, component) {
		f.components = append(f.components, component)
	}
	m.prune()
	// With the number of the look that may be under way, so that it does not
	// drop a group that it was too early to see.
	m.groups[pid] = owner{program: program, look: m.look, seen: seen}
}

// classifyChildren splits the children of this process into orphans and the programs of those that
// it has forked.
func (m *memory) classifyChildren(children []int, forked func(pid int) bool) (orphans []int, present []Program) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, pid := range children {
		if program, ok := m.mains[pid]; ok && forked(pid) {
			present = append(present, program)
		} else {
			orphans = append(orphans, pid)
		}
	}
	return orphans, present
}

// markPresent sets the queried programs that are present. Descendants that lost the program's marks
// are attributed to the representative of the component, so that counts too.
func (m *memory) markPresent(asked map[Program]bool, present []Program) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, program := range present {
		if _, ok := asked[program]; ok {
			asked[program] = true
		}
		if f := m.forks[program]; f != nil {
			for _, component := range f.components {
				if _, ok := asked[component]; ok {
					asked[component] = true
				}
			}
		}
	}
}

// process returns the program that this very process was attributed to before.
func (m *memory) process(id id) Program {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.processes[id.pid]; e != nil && e.start == id.start {
		return e.program
	}
	return Unclaimed
}

// remember records a claimed process until a look finds that it has ended.
func (m *memory) remember(e *entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.prune()
	e.look = m.look // the one under way may have been too early to see it
	m.processes[e.pid] = e
}

// prune drops ended groups and processes, but not zombies. Looks do so too, but may be months apart
// if programs are only started and stopped. It runs when the additions reach half of the size, so
// that the amortised cost of a fork is constant. A reused number is harmless: a process is
// identified by its start time, a group by that of its leader.
func (m *memory) prune() {
	const least = 64
	if m.added++; m.added < max(least, (len(m.groups)+len(m.processes))/2) {
		return
	}
	m.added = 0
	maps.DeleteFunc(m.groups, func(pgid int, _ owner) bool { return !exists(-pgid) })
	maps.DeleteFunc(m.processes, func(pid int, _ *entry) bool { return !exists(pid) })
}

// exists reports whether there is a process with this pid or, if negative, a process group.
func exists(pid int) bool { return !errors.Is(unix.Kill(pid, 0), unix.ESRCH) }

// knowsSession reports whether the session was known to belong to a program.
func (m *memory) knowsSession(sid int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.sessions[sid]
	return ok
}

// recall returns the process that was claimed when the pid was last seen, or nil.
func (m *memory) recall(pid int) *entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.processes[pid]
}

// sawUnclaimed reports whether the last look found unclaimed processes.
func (m *memory) sawUnclaimed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.unclaimed
}

// byGroupOrSession returns the program that owned this group, or else this session, at an earlier
// look; 0 stands for none. leader returns the live process with a pid. If it was forked after that
// look, it leads another group that has the same number.
func (m *memory) byGroupOrSession(pgid, sid int, leader func(pid int) (stat, bool)) Program {
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

// update stores the results of a look and drops ended processes.
func (m *memory) update(v *view) {
	m.mu.Lock()
	defer m.mu.Unlock()
	groups, sessions, claimed := map[int]bool{}, map[int]bool{}, 0
	for _, e := range v.entries {
		groups[e.pgid], sessions[e.sid] = true, true
		if e.program != Unclaimed {
			m.processes[e.pid] = e
			claimed++
		}
	}
	m.unclaimed = claimed < len(v.entries)
	if len(m.processes) > claimed {
		maps.DeleteFunc(m.processes, func(pid int, e *entry) bool { return v.find(pid) != e && e.look < v.look })
	}
	m.groups = updateOwners(m.groups, v.groups, groups, v)
	m.sessions = updateOwners(m.sessions, v.sessions, sessions, v)
}

func updateOwners(old map[int]owner, found map[int]Program, exist map[int]bool, v *view) map[int]owner {
	owners := make(map[int]owner, len(found))
	for number, o := range old {
		if exist[number] || o.look >= v.look {
			owners[number] = o
		}
	}
	for number, program := range found {
		if program == Unclaimed {
			delete(owners, number) // shared by two programs: proves nothing
		} else {
			owners[number] = owner{program: program, look: v.look, seen: v.began}
		}
	}
	return owners
}
