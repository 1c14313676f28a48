package proctree

import (
	"slices"
	"strconv"
	"sync"
	"time"
)

// Why reading this process's own children suffices to prove that nothing of a program is left:
//
//  - All processes of a program descend from those that were forked for it. When a parent ends, its
//    child is adopted by a subreaper among its ancestors or, in the end, by this process. So once a
//    program's first process is reaped, the topmost ancestor of each remaining process is a child
//    of this process that it has not forked.
//  - The kernel lists the children of each thread; a list that is read while a child leaves it may
//    lack another (proc_pid_children(5)). While nothing is reaped no child leaves, except that
//    those of an ending thread move. So the lists are read under the reaper's lock, and discarded
//    if a thread has ended meanwhile.
//  - A child added during the reading was forked, or lost, by a process that existed when the
//    reading began. The topmost ancestor of that process is found, if only as a zombie, which
//    counts too.
//
// The limit identifies the program of an orphan, also of a zombie. If an orphan has lost the limit
// or has a foreign one, the result is unknown, and only a look at all processes can tell.

// surveyTime bounds a survey, since the reaper waits for it.
const surveyTime = 100 * time.Millisecond

// survey is one reading of this process's children, shared by all concurrent callers.
type survey struct {
	done  chan struct{}    // closed when the fields below are valid
	known bool             // the program of each child is known
	asked map[Program]bool // whether each of the queried programs may have processes
}

// surveys shares one survey among concurrent callers.
type surveys struct {
	surveying sync.Mutex    // held during a survey
	ended     time.Time     // end of the last survey
	took      time.Duration // duration of the last survey
	mu        sync.Mutex
	next      *survey // the next survey; nil if no caller waits for one
}

// Gone reports whether it is certain that a program has no live process and none to be reaped.
// false means unknown. The cost is proportional to the number of this process's children and shared
// by concurrent callers.
func (t *Tree) Gone(program Program) bool { return t.presence(program) == absent }

// presence is the result of a survey for a program.
type presence int

const (
	unknown presence = iota // cannot be determined from the children of this process
	absent                  // the program has neither a live process nor one to be reaped
	present                 // the program has a process
)

// presence surveys this process's children for a program.
func (t *Tree) presence(program Program) presence {
	if t.freeze == nil || program == Unclaimed {
		return unknown
	}
	s, first := t.surveys.join(program)
	if first {
		t.surveys.begin(s, func() {
			t.freeze(func(forked func(pid int) bool) { s.known = t.takeSurvey(s.asked, forked) })
		})
	}
	<-s.done
	switch {
	case !s.known:
		return unknown
	case s.asked[program]:
		return present
	}
	return absent
}

// presenceOf surveys this process's children for several programs. It stops at the first
// that is not absent.
func (t *Tree) presenceOf(programs []Program) presence {
	for _, program := range programs {
		if p := t.presence(program); p != absent {
			return p
		}
	}
	return absent
}

func (t *Tree) allGone(programs []Program) bool { return t.presenceOf(programs) == absent }

// join adds a program to the next survey. first reports whether the caller is the first, which has
// to run it.
func (w *surveys) join(program Program) (s *survey, first bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if first = w.next == nil; first {
		w.next = &survey{done: make(chan struct{}), asked: map[Program]bool{}}
	}
	w.next.asked[program] = false
	return w.next, first
}

func (w *surveys) begin(s *survey, take func()) {
	w.surveying.Lock()
	defer w.surveying.Unlock()
	time.Sleep(time.Until(w.ended.Add(share * w.took)))
	began := time.Now()
	defer func() {
		w.ended = time.Now()
		w.took = w.ended.Sub(began)
	}()
	w.mu.Lock()
	w.next = nil
	w.mu.Unlock()
	defer close(s.done)
	take()
}

// takeSurvey reads this process's children and records which of the queried programs may have any.
// It reports whether the program of each child is known.
func (t *Tree) takeSurvey(asked map[Program]bool, forked func(pid int) bool) (known bool) {
	children, ok := t.proc.ownChildren()
	if !ok {
		return false
	}
	orphans, present := t.memory.classifyChildren(children, forked)
	if len(orphans) > 0 && t.noLimitMark != nil {
		return false
	}
	end := time.Now().Add(surveyTime)
	for i, pid := range orphans {
		const often = 64
		if i%often == often-1 && time.Now().After(end) {
			return false
		}
		program := t.byLimit(pid)
		if program == Unclaimed || t.contradictsCoreMark(pid, program) || t.verifyByPID(pid, program) != program {
			return false
		}
		if known := t.memory.recall(pid); known != nil && !t.sameComponent(known.program, program) {
			return false // it has a foreign mark, or is another process with the same pid
		}
		present = append(present, program)
	}
	t.memory.markPresent(asked, present)
	return true
}

// ownChildren lists the children of all threads of this process while none is reaped. ok is false
// if that is not possible.
func (p procfs) ownChildren() (children []int, ok bool) {
	folder := p.root + "/self/task"
	threads, err := numbers(folder)
	if err != nil {
		return nil, false
	}
	for _, thread := range threads {
		if children, err = readNumbers(folder+"/"+strconv.Itoa(thread)+"/children", children); err != nil {
			return nil, false // the thread has ended, or the kernel has no such file (CONFIG_PROC_CHILDREN)
		}
	}
	again, err := numbers(folder)
	ended := slices.ContainsFunc(threads, func(thread int) bool { return !slices.Contains(again, thread) })
	return children, err == nil && !ended
}
