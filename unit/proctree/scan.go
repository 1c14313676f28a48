package proctree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sort"
	"time"
)

// Process is one process that exists for the unit.
type Process struct {
	PID     int
	Parent  int
	Group   int
	Session int
	Program Program // whose it is, or Unclaimed
	Started time.Time
	Command string        // its command line, printable, on one line; "[name]" where it has none
	CPU     time.Duration // user and system time
	Waited  time.Duration // the same of its children that it has waited for
	Memory  int64         // resident set, bytes
	Zombie  bool          // ended, and not yet reaped by its parent
}

// entry is a process during a look.
type entry struct {
	stat
	face
	program Program
}

func (e *entry) id() id { return id{e.pid, e.start} }

// view is what one look at /proc found.
type view struct {
	look    uint64
	seen    uint64         // when it began, in ticks
	entries []*entry       // by pid
	byPID   map[int]*entry // of a glance: nil
	// exact is set where nothing was forked during the look, so that nothing
	// can have slipped past it.
	exact bool
	// The program that the group's or session's members are claimed by;
	// Unclaimed where two programs claim some.
	groups, sessions map[int]Program
}

// find gives the process of a pid, nil where none was found.
func (v *view) find(pid int) *entry {
	i := sort.Search(len(v.entries), func(i int) bool { return v.entries[i].pid >= pid })
	if i < len(v.entries) && v.entries[i].pid == pid {
		return v.entries[i]
	}
	return nil
}

// Scan shows all processes that exist for the unit, by pid: as PID 1 all but
// itself and kernel threads, otherwise its descendants.
func (t *Tree) Scan() ([]Process, error) {
	v, err := t.look(nil)
	if err != nil {
		return nil, err
	}
	processes := make([]Process, 0, len(v.entries))
	for _, e := range v.entries {
		p := t.describe(e)
		p.Command = t.proc.command(&e.stat)
		processes = append(processes, p)
	}
	return processes, nil
}

// Live shows the processes of these programs that have not ended, by pid. Of
// their command lines it gives the short name only: it is cheaper than
// [Tree.Scan], and never waits for a process that is stuck.
func (t *Tree) Live(programs ...Program) ([]Process, error) {
	members, err := t.live(programs)
	if err != nil {
		return nil, err
	}
	processes := make([]Process, 0, len(members))
	for _, e := range members {
		processes = append(processes, t.describe(e))
	}
	return processes, nil
}

// Identify tells whose one process is, also of a zombie about to be reaped.
// A process that does not exist is fs.ErrNotExist.
func (t *Tree) Identify(pid int) (Process, error) {
	s, err := t.proc.stat(pid)
	if err != nil {
		return Process{}, fmt.Errorf("cannot identify process %d: %w", pid, err)
	}
	e := &entry{stat: s}
	e.program = t.marked(&e.stat)
	if e.program == Unclaimed {
		pgid, sid := t.bonds(&e.stat)
		e.program = t.memory.kin(pgid, sid, func(pid int) (stat, bool) {
			s, err := t.proc.stat(pid)
			return s, err == nil
		})
	}
	return t.describe(e), nil
}

func (t *Tree) describe(e *entry) Process {
	return Process{
		PID: e.pid, Parent: e.ppid, Group: e.pgid, Session: e.sid,
		Program: e.program,
		Started: startTime(e.start),
		Command: "[" + printable([]byte(e.comm)) + "]",
		CPU:     time.Duration(e.cpu) * (time.Second / ticksPerSecond),
		Waited:  time.Duration(e.waited) * (time.Second / ticksPerSecond),
		Memory:  e.rss * int64(os.Getpagesize()),
		Zombie:  e.ended(),
	}
}

func startTime(start uint64) time.Time {
	ticks, ok := now()
	if !ok {
		return time.Time{}
	}
	return time.Now().Add(-time.Duration(int64(ticks)-int64(start)) * (time.Second / ticksPerSecond))
}

// live gives the processes of these programs that have not ended. That there
// are none it says only when it is sure: a process that forks during a look
// and ends can pass the child on to a pid that the look has left behind.
func (t *Tree) live(programs []Program) ([]*entry, error) {
	const looks = 3
	for i := 1; ; i++ {
		v, err := t.look(programs)
		if err != nil {
			return nil, err
		}
		var members []*entry
		for _, e := range v.entries {
			if slices.Contains(programs, e.program) && !e.ended() {
				members = append(members, e)
			}
		}
		if len(members) > 0 || v.exact || i == looks {
			return members, nil
		}
	}
}

// look reads all of /proc once; where certain programs are asked for, of the
// others only as much as it takes to know them again.
func (t *Tree) look(asked []Program) (*view, error) {
	t.scan.Lock()
	defer t.scan.Unlock()
	v := &view{look: t.memory.begin()}
	v.seen, _ = now()
	before, known := t.proc.lastPID()
	pids, err := t.proc.pids()
	if err != nil {
		return nil, fmt.Errorf("cannot see processes: %w", err)
	}
	slices.Sort(pids)
	pids = slices.DeleteFunc(pids, func(pid int) bool { return pid == t.self })
	v.entries = make([]*entry, 0, len(pids))
	quick := asked != nil && t.direct && t.init && !t.memory.strangers()
	if !quick || !t.glance(v, pids, asked) {
		t.lookFully(v, pids)
	}
	t.memory.learn(v)
	after, stillKnown := t.proc.lastPID()
	v.exact = known && stillKnown && before == after
	return v, nil
}

func (t *Tree) lookFully(v *view, pids []int) {
	v.entries, v.byPID = v.entries[:0], make(map[int]*entry, len(pids))
	for _, pid := range pids {
		if e, ok := t.read(pid); ok {
			v.entries = append(v.entries, e)
			v.byPID[pid] = e
		}
	}
	v.settle(t)
	if !t.init {
		v.keepDescendants(t.self)
	}
	for _, e := range v.entries {
		e.program = t.marked(&e.stat)
	}
	t.inherit(v)
}

// settle looks again at processes whose parent ended during the look: they
// have another one now, and without it the chain to the unit would be broken.
func (v *view) settle(t *Tree) {
	const rounds = 5 // each for one more generation that ended
	for range rounds {
		changed := false
		v.entries = slices.DeleteFunc(v.entries, func(e *entry) bool {
			if e.ppid == 0 || e.ppid == t.self || v.byPID[e.ppid] != nil {
				return false
			}
			s, err := t.proc.stat(e.pid)
			if errors.Is(err, fs.ErrNotExist) || (err == nil && s.start != e.start) {
				delete(v.byPID, e.pid)
				changed = true
				return true
			}
			if err == nil && s.ppid != e.ppid {
				changed = true
				e.stat = s
			}
			return false
		})
		if !changed {
			return
		}
	}
}

// keepDescendants leaves out what does not descend from the unit.
func (v *view) keepDescendants(self int) {
	descends := map[int]bool{self: true, 0: false}
	var ask func(pid, depth int) bool
	ask = func(pid, depth int) bool {
		if answer, known := descends[pid]; known {
			return answer
		}
		e := v.byPID[pid]
		answer := e != nil && depth < len(v.entries) && ask(e.ppid, depth+1)
		descends[pid] = answer
		return answer
	}
	v.entries = slices.DeleteFunc(v.entries, func(e *entry) bool { return !ask(e.pid, 0) })
	v.byPID = make(map[int]*entry, len(v.entries))
	for _, e := range v.entries {
		v.byPID[e.pid] = e
	}
}
