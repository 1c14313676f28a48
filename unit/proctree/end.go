package proctree

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// SentSignal is a signal that was sent to a process.
type SentSignal struct {
	Process Process
	Signal  syscall.Signal
}

// Ending is what [Tree.End] did.
type Ending struct {
	Signalled []SentSignal // in order
	Refused   []Process    // alive, and we may not signal them
	Left      []Process    // alive when End returned, including Refused; empty: all have ended
}

// Killed returns the processes that got KILL.
func (e *Ending) Killed() []Process {
	var killed []Process
	for _, s := range e.Signalled {
		if s.Signal == syscall.SIGKILL {
			killed = append(killed, s.Process)
		}
	}
	return killed
}

// End ends all processes of these programs and no others: TERM at once, and KILL
// to those left after the grace; with a grace of 0 or less, KILL at once. It
// returns when all have ended (a zombie has), when we may not signal those that
// are left, or with ctx's error when ctx is done. Give ctx a deadline: a process
// stuck in a system call survives even KILL. The Ending is valid even with an
// error.
//
// Processes fork while they are being ended, so End looks again after signalling
// and whenever one has ended, and signals those that are new. One exception: what
// a process forks after it got TERM is part of its shutdown, a trap's clean-up
// for instance. It is left alone until its parent has ended or the grace is over.
func (t *Tree) End(ctx context.Context, programs []Program, grace time.Duration) (Ending, error) {
	w, err := t.newWatch()
	if err != nil {
		return Ending{}, err
	}
	defer w.close()
	e := &ender{tree: t, watch: w, programs: programs}
	gone := false
	if grace > 0 {
		graceCtx, cancel := context.WithTimeout(ctx, grace)
		gone, err = e.sweep(graceCtx, syscall.SIGTERM)
		cancel()
	}
	if !gone && err == nil && ctx.Err() == nil {
		gone, err = e.sweep(ctx, syscall.SIGKILL)
	}
	if !gone && err == nil {
		err = ctx.Err() // nil where all that is left may not be signalled
	}
	for _, m := range e.left {
		p := t.describe(m)
		e.result.Left = append(e.result.Left, p)
		if h := w.held[m.id()]; h != nil && h.refused {
			e.result.Refused = append(e.result.Refused, p)
		}
	}
	return e.result, err
}

// ender is a call of End.
type ender struct {
	tree     *Tree
	watch    *watch
	programs []Program
	result   Ending
	left     []*entry // the live members at the last look

	looked time.Time     // when the last look ended
	took   time.Duration // and how long it took
}

// sweep signals all members until an exact look finds none, ctx is done, or, for
// KILL, only those are left that we may not signal.
func (e *ender) sweep(ctx context.Context, sig syscall.Signal) (gone bool, err error) {
	for chase := 0; ; {
		members, settled, err := e.look()
		if err != nil {
			return false, err
		}
		if len(members) == 0 && settled {
			return true, nil
		}
		select {
		case <-ctx.Done():
			return false, nil
		default:
		}
		fresh, hopeless := e.signal(members, sig)
		if hopeless && sig == syscall.SIGKILL && len(members) > 0 {
			return false, nil
		}
		if fresh || len(members) == 0 {
			// They may have forked between the look and the signal.
			chase++
			e.rest(ctx, chase, sig)
			continue
		}
		chase = 0
		if err := e.wait(ctx); err != nil {
			return false, err
		}
	}
}

// rest keeps a chase from taking a whole processor: what forks and ends all the
// time may do so until the grace is over. KILL has to be faster than it.
func (e *ender) rest(ctx context.Context, chase int, sig syscall.Signal) {
	const patience = 10
	if chase > patience && sig != syscall.SIGKILL {
		pause(ctx, max(share*e.took, time.Millisecond))
	}
}

// share is how many times as long as a look the pause after it is, so that
// looking takes a bounded share of a processor.
const share = 4

// look finds the live members and drops those that have ended. Unless it is
// settled, that it finds none means nothing.
func (e *ender) look() (members []*entry, settled bool, err error) {
	began := time.Now()
	if !e.looked.IsZero() && len(e.watch.held) == 0 && e.tree.allGone(e.programs) {
		e.left = nil
		return nil, true, nil
	}
	members, err = e.tree.live(e.programs)
	e.looked = time.Now()
	e.took = e.looked.Sub(began)
	if errors.Is(err, errUnsettled) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	alive := make(map[id]bool, len(members))
	for _, m := range members {
		alive[m.id()] = true
	}
	e.left = members
	for id, h := range e.watch.held {
		if !alive[id] {
			e.watch.drop(h)
		}
	}
	return members, true, nil
}

// signal sends sig to the members that have not got it yet. fresh reports whether
// there were any, hopeless whether we may not signal any member.
func (e *ender) signal(members []*entry, sig syscall.Signal) (fresh, hopeless bool) {
	byPID := make(map[int]*entry, len(members))
	for _, m := range members {
		byPID[m.pid] = m
	}
	hopeless = true
	for _, m := range members {
		h, ok := e.watch.add(m)
		if !ok {
			hopeless = false // has just ended; the next look finds what it left
			continue
		}
		if h.sent != sig && (sig != syscall.SIGTERM || !e.forkedWhileEnding(m, byPID)) {
			fresh = true
			e.send(h, sig)
		}
		hopeless = hopeless && h.refused
	}
	return fresh, hopeless
}

func (e *ender) send(h *handle, sig syscall.Signal) {
	err := e.tree.signal(h, sig)
	if err == nil {
		e.result.Signalled = append(e.result.Signalled, SentSignal{h.process, sig})
	}
	if errors.Is(err, os.ErrProcessDone) {
		e.watch.drop(h)
	}
}

// forkedWhileEnding reports whether a member was forked by a process that had
// already got TERM and lives, or by such a child in turn.
func (e *ender) forkedWhileEnding(m *entry, members map[int]*entry) bool {
	for range members { // no chain of parents is longer
		parent := members[m.ppid]
		if parent == nil || parent.start > m.start {
			return false
		}
		if h := e.watch.held[parent.id()]; h != nil && h.sent == syscall.SIGTERM {
			return m.start >= h.sentAt
		}
		m = parent
	}
	return false
}

// wait returns when it is worth looking again. Members often end one after the
// other, and each end is a reason to look. To keep the cost of many members
// linear, the pause between two looks is at least four times as long as a look,
// unless all members have ended.
func (e *ender) wait(ctx context.Context) error {
	if err := e.watch.wait(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithDeadline(ctx, e.looked.Add(share*e.took))
	defer cancel()
	for ctx.Err() == nil && len(e.watch.held) > 0 {
		if err := e.watch.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Signal sends a signal to all live processes of these programs. It returns
// those that got it and those that we may not signal.
func (t *Tree) Signal(programs []Program, sig syscall.Signal) (reached, refused []Process, err error) {
	members, err := t.live(programs)
	if err != nil {
		return nil, nil, err
	}
	for _, m := range members {
		h, ok := t.hold(m)
		if !ok {
			continue
		}
		h.suspended = false // who chooses the signal can send CONT as well
		switch err := t.signal(h, sig); {
		case err == nil:
			reached = append(reached, h.process)
		case h.refused:
			refused = append(refused, h.process)
		}
		h.close()
	}
	return reached, refused, nil
}

// ErrUnproven says that no process of a program was found for a while, although other
// processes were forked too fast for an exact look.
var ErrUnproven = errors.New("no process of it was found, but others are forked faster than they can be seen")

// unprovenTime is how long no process of a program may be found until WaitGone gives up
// proving that there is none.
const unprovenTime = 500 * time.Millisecond

// WaitGone returns when an exact look finds no live process of these programs, or
// with ctx's error when ctx is done. Waiting is free: it looks at /proc again only
// when all processes that it knew have ended. The error is ErrUnproven if no exact look
// is possible, but those of unprovenTime found none.
func (t *Tree) WaitGone(ctx context.Context, programs ...Program) error {
	w, err := t.newWatch()
	if err != nil {
		return err
	}
	defer w.close()
	var unproven time.Time // when the first of the looks in a row began that found none; zero: the last one did
	for look := 0; ; look++ {
		began, surveyed := time.Now(), unknown
		if look > 0 {
			surveyed = t.presenceOf(programs)
		}
		if surveyed == absent {
			return nil
		}
		members, err := t.live(programs)
		unsettled := errors.Is(err, errUnsettled)
		if err != nil && !unsettled {
			return err
		}
		if len(members) == 0 && !unsettled {
			return nil
		}
		looked := time.Now()
		switch {
		case look == 0 || len(members) > 0 || surveyed == present:
			unproven = time.Time{}
		case unproven.IsZero():
			unproven = began
		case looked.Sub(unproven) >= unprovenTime:
			return ErrUnproven
		}
		for _, m := range members {
			w.add(m)
		}
		for len(w.held) > 0 && ctx.Err() == nil {
			if err := w.wait(ctx); err != nil {
				return err
			}
		}
		if look > 0 && unproven.IsZero() { // perhaps they end as fast as they are found
			pause(ctx, time.Until(looked.Add(share*looked.Sub(began))))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}
