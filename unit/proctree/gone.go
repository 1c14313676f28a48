package proctree

import (
	"slices"
	"strconv"
	"sync"
	"time"
)

// Why a look at this process's own children is enough to tell that nothing of a program
// is left, and exact:
//
//   - All processes of a program descend from those that were forked for it. When the
//     parent of one ends, it becomes the child of another of its ancestors: of one that
//     adopts orphans (PR_SET_CHILD_SUBREAPER) or, in the end, of this process. So once
//     a program's first process is reaped, the topmost ancestor of each that it left is a
//     child of this process, and none that this process has forked.
//   - The kernel lists the children of each thread, and a list that is read while a child
//     leaves it may lack another (proc_pid_children(5)). While nobody reaps, none leaves,
//     except that those of a thread that ends move. So they are read under the reaper's
//     lock, and do not count if a thread has ended meanwhile.
//   - What comes to a list while it is read was forked by a process that was there when
//     the reading began, or has lost it as its parent. The topmost ancestor of that is
//     found, if only as a zombie, which counts like any other.
//
// Whose an orphan is its limit tells, also of a zombie. What has lost the limit, or has
// another's, may be anybody's, and then nothing is known: a look at all processes has
// to tell.

// surveyTime bounds a survey, since the reaper waits for its end.
const surveyTime = 100 * time.Millisecond

// survey is one reading of this process's children, for all who ask.
type survey struct {
	done  chan struct{}    // closed when the rest is valid
	known bool             // whose each of them is
	asked map[Program]bool // whether there may be something of these programs
}

// surveys lets those who ask at the same time share one.
type surveys struct {
	taking sync.Mutex    // held while one is taken
	ended  time.Time     // when the last one ended
	took   time.Duration // and how long it took
	mu     sync.Mutex
	next   *survey // that has not begun; nil: nobody waits for one
}

// Gone reports that nothing of a program is there: no live process, and none that
// is still to be reaped. false says nothing. It costs as much as this process
// has children, once for all who ask at the same time.
func (t *Tree) Gone(program Program) bool { return t.presence(program) == absent }

// presence is what a survey says about a program.
type presence int

const (
	unknown presence = iota // the children of this process do not tell
	absent                  // neither a live process of it exists nor one that is still to be reaped
	present                 // one does
)

// presence surveys this process's children for a program.
func (t *Tree) presence(program Program) presence {
	if t.still == nil || program == Unclaimed {
		return unknown
	}
	s, first := t.surveys.join(program)
	if first {
		t.surveys.begin(s, func() {
			t.still(func(forked func(pid int) bool) { s.known = t.take(s.asked, forked) })
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

// join asks the next survey that begins. first reports whether nobody has yet, so that
// the caller has to begin it.
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
	w.taking.Lock()
	defer w.taking.Unlock()
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

// take reads this process's children, and notes which of the programs asked for may
// have any. It reports whether it is known whose they are.
func (t *Tree) take(asked map[Program]bool, forked func(pid int) bool) (known bool) {
	children, ok := t.proc.ownChildren()
	if !ok {
		return false
	}
	orphans, present := t.memory.sort(children, forked)
	if len(orphans) > 0 && t.unlimited != nil {
		return false
	}
	end := time.Now().Add(surveyTime)
	for i, pid := range orphans {
		const often = 64
		if i%often == often-1 && time.Now().After(end) {
			return false
		}
		program := t.byLimit(pid)
		if program == Unclaimed || t.deniesCore(pid, program) || t.judgePID(pid, program) != program {
			return false
		}
		if known := t.memory.recall(pid); known != nil && !t.sameComponent(known.program, program) {
			return false // it has another mark than before, or its number
		}
		present = append(present, program)
	}
	t.memory.mark(asked, present)
	return true
}

// ownChildren lists the children of all threads of this process, while none of these is
// reaped. ok is false if it cannot be told.
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
