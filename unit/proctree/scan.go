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

// Process is a process in the unit's container.
type Process struct {
	PID     int
	Parent  int
	Group   int
	Session int
	Program Program // the program it belongs to, or Unclaimed
	Started time.Time
	Command string        // printable, on one line; "[name]" if there is none
	CPU     time.Duration // user and system time
	Waited  time.Duration // CPU time of the children it waited for
	Memory  int64         // resident set, bytes
	Zombie  bool          // ended, but not reaped by its parent yet
}

// entry is a process seen by a look.
type entry struct {
	stat
	identity
	program Program
	look    uint64 // the look that recognised it
}

func (e *entry) id() id { return id{e.pid, e.start} }

// view is the result of one look at /proc.
type view struct {
	look    uint64
	began   uint64         // start of the look, in ticks since boot
	entries []*entry       // by pid
	byPID   map[int]*entry // nil after a quickLook
	missed  bool           // a process ended between being listed and being read
	// exact reports that the look cannot have missed a process.
	exact bool
	blind bool // the kernel does not show the last allocated pid
	// The program of the claimed members of each process group and session; Unclaimed if there are
	// several.
	groups, sessions map[int]Program
}

// find returns the process of a pid, or nil.
func (v *view) find(pid int) *entry {
	i := sort.Search(len(v.entries), func(i int) bool { return v.entries[i].pid >= pid })
	if i < len(v.entries) && v.entries[i].pid == pid {
		return v.entries[i]
	}
	return nil
}

// Scan returns all processes of the container by pid: as PID 1, all except itself and kernel
// threads; otherwise its descendants.
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

// Live returns the processes of the given programs that have not ended, by pid. Command is only the
// short name, which makes it cheaper than [Tree.Scan] and independent of stuck processes.
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

// Owner returns the program of a child that has ended but is not reaped yet. The limit alone
// identifies most of them, so that a storm of orphans does not require reading /proc.
func (t *Tree) Owner(pid int) Program {
	if t.noLimitMark == nil && t.memory.recall(pid) == nil {
		if program := t.byLimit(pid); program != Unclaimed && t.verifyByPID(pid, program) == program {
			return program
		}
	}
	p, err := t.Identify(pid)
	if err != nil {
		return Unclaimed
	}
	return p.Program
}

// Identify attributes one process, even a zombie that is about to be reaped. If it does not exist,
// the error is fs.ErrNotExist.
func (t *Tree) Identify(pid int) (Process, error) {
	s, err := t.proc.stat(pid)
	if err != nil {
		return Process{}, fmt.Errorf("cannot identify process %d: %w", pid, err)
	}
	e := &entry{stat: s}
	e.program = t.byMark(&e.stat)
	if e.program == Unclaimed {
		pgid, sid := t.groupAndSession(&e.stat)
		e.program = t.memory.byGroupOrSession(pgid, sid, t.leader)
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

// live returns the processes of the given programs that have not ended. Only an exact look can
// prove that there are none; without one the error is errUnsettled. If the kernel lacks the means
// for it, several looks replace one.
func (t *Tree) live(programs []Program) ([]*entry, error) {
	const looks = 3
	for i := 1; ; i++ {
		v, err := t.look(programs)
		if err != nil {
			return nil, err
		}
		members := v.members(programs)
		switch {
		case len(members) > 0 || v.exact || v.blind && i == looks:
			return members, nil
		case i == looks:
			return nil, errUnsettled
		}
	}
}

// members returns the processes of these programs that have not ended.
func (v *view) members(programs []Program) (members []*entry) {
	for _, e := range v.entries {
		if slices.Contains(programs, e.program) && !e.ended() {
			members = append(members, e)
		}
	}
	return members
}

// look reads all of /proc once. If asked is not empty, it reads other programs' processes only as
// far as needed to recognise them.
func (t *Tree) look(asked []Program) (*view, error) {
	t.scan.Lock()
	defer t.scan.Unlock()
	v := &view{look: t.memory.begin()}
	v.began, _ = now()
	before, known := t.lastPID()
	pids, err := t.pids()
	if err != nil {
		return nil, fmt.Errorf("cannot list processes: %w", err)
	}
	v.entries = make([]*entry, 0, len(pids))
	quick := asked != nil && t.direct && t.init && !t.memory.sawUnclaimed()
	if !quick || !t.quickLook(v, pids, asked) {
		t.lookFully(v, pids)
	}
	if v.blind = !known; known && len(v.members(asked)) == 0 {
		if err := t.settle(v, pids, before, asked); err != nil {
			return nil, fmt.Errorf("cannot list processes: %w", err)
		}
	}
	t.memory.update(v)
	return v, nil
}

// pids lists the processes other than this one, in ascending order.
func (t *Tree) pids() ([]int, error) {
	pids, err := t.proc.pids()
	slices.Sort(pids)
	return slices.DeleteFunc(pids, func(pid int) bool { return pid == t.self }), err
}

func (t *Tree) lookFully(v *view, pids []int) {
	v.entries, v.byPID = v.entries[:0], make(map[int]*entry, len(pids))
	for _, pid := range pids {
		switch e := t.read(pid); {
		case e == nil:
			v.missed = true
		case !e.ofKernel():
			v.entries = append(v.entries, e)
			v.byPID[pid] = e
		}
	}
	v.refreshParents(t)
	if !t.init {
		v.keepDescendants(t.self)
	}
	for _, e := range v.entries {
		e.program = t.byMark(&e.stat)
	}
	t.correctCopiedMarks(v)
	t.inherit(v)
	for _, e := range v.entries {
		// It may have had marks before it ended.
		v.missed = v.missed || e.program == Unclaimed && (e.ended() || !t.alive(e.id()))
	}
}

// refreshParents reads processes again whose parent ended during the look: they have been adopted,
// and the chain to the unit would be broken.
func (v *view) refreshParents(t *Tree) {
	const rounds = 5 // one for each ended generation
	for range rounds {
		changed := false
		v.entries = slices.DeleteFunc(v.entries, func(e *entry) bool {
			if e.ppid == 0 || e.ppid == t.self || v.byPID[e.ppid] != nil {
				return false
			}
			s, err := t.proc.stat(e.pid)
			if errors.Is(err, fs.ErrNotExist) || (err == nil && s.start != e.start) {
				delete(v.byPID, e.pid)
				changed, v.missed = true, true
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

// keepDescendants drops processes that do not descend from the unit.
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
