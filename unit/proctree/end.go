package proctree

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// Signalled is a signal that a process got.
type Signalled struct {
	Process Process
	Signal  syscall.Signal
}

// Ending is what [Tree.End] did.
type Ending struct {
	Signalled []Signalled // in the order sent
	Refused   []Process   // alive, and may not be signalled by us
	Left      []Process   // alive when End returned, Refused among them; empty: all have ended
}

// Killed gives the processes that did not end within the grace.
func (e *Ending) Killed() []Process {
	var killed []Process
	for _, s := range e.Signalled {
		if s.Signal == syscall.SIGKILL {
			killed = append(killed, s.Process)
		}
	}
	return killed
}

// End ends all processes of these programs and no other: TERM at once, and
// KILL to what is left after the grace; where that is not positive, KILL at
// once. It returns when all have ended (a zombie has), when the only ones left
// may not be signalled, or with ctx's error when ctx ends; give ctx a deadline,
// since a process inside a stuck system call survives KILL, too. The Ending is
// valid also beside an error.
//
// Processes fork while they are being ended, so End looks again after it has
// signalled and whenever one has ended, and signals what is new. One exception:
// what a living process forks after it got TERM is part of how that process
// ends, a trap's clean-up for instance. It is left alone until its parent has
// ended or the grace is over.
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

// ender is one End under way.
type ender struct {
	tree     *Tree
	watch    *watch
	programs []Program
	result   Ending
	left     []*entry // the live members at the last look

	looked time.Time     // when the last look ended
	took   time.Duration // and how long it took
}

// sweep signals all members until none is left, ctx ends, or, for KILL, only
// those are left that may not be signalled.
func (e *ender) sweep(ctx context.Context, sig syscall.Signal) (gone bool, err error) {
	for {
		members, err := e.look()
		if err != nil {
			return false, err
		}
		if len(members) == 0 {
			return true, nil
		}
		select {
		case <-ctx.Done():
			return false, nil
		default:
		}
		fresh, hopeless := e.signal(members, sig)
		if hopeless && sig == syscall.SIGKILL {
			return false, nil
		}
		if fresh {
			continue // they may have forked between the look and the signal
		}
		if err := e.wait(ctx); err != nil {
			return false, err
		}
	}
}

// look finds the live members and lets go of those that have ended.
func (e *ender) look() ([]*entry, error) {
	began := time.Now()
	members, err := e.tree.live(e.programs)
	if err != nil {
		return nil, err
	}
	e.looked = time.Now()
	e.took = e.looked.Sub(began)
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
	return members, nil
}

// signal sends sig to the members that did not get it yet. fresh tells whether
// there were such, hopeless whether all members refuse it.
func (e *ender) signal(members []*entry, sig syscall.Signal) (fresh, hopeless bool) {
	byPID := make(map[int]*entry, len(members))
	for _, m := range members {
		byPID[m.pid] = m
	}
	hopeless = true
	for _, m := range members {
		h, ok := e.watch.add(m)
		if !ok {
			hopeless = false // has just ended; the next look knows what it left
			continue
		}
		if h.sent != sig && (sig != syscall.SIGTERM || !e.spared(m, byPID)) {
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
		e.result.Signalled = append(e.result.Signalled, Signalled{h.process, sig})
	}
	if errors.Is(err, os.ErrProcessDone) {
		e.watch.drop(h)
	}
}

// spared tells whether a member was forked by one that is ending, or by such a
// child in turn.
func (e *ender) spared(m *entry, members map[int]*entry) bool {
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

// wait returns when it is worth looking again. Members often end one after
// the other, and each end is a reason to look; so that many members do not
// cost as many looks at as many processes, at least four times as long passes
// between two looks as one takes, unless all members have ended.
func (e *ender) wait(ctx context.Context) error {
	if err := e.watch.wait(ctx); err != nil {
		return err
	}
	const share = 4
	ctx, cancel := context.WithDeadline(ctx, e.looked.Add(share*e.took))
	defer cancel()
	for ctx.Err() == nil && len(e.watch.held) > 0 {
		if err := e.watch.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Signal sends a signal to all live processes of these programs. It gives
// those that got it and those that may not be signalled by us.
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
		h.stopped = false // who sends a signal of his choice sends CONT himself
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

// WaitGone returns when no process of these programs is alive, or with ctx's
// error when ctx ends. It costs nothing while it waits, and looks at /proc
// only when all the processes that it knew have ended.
func (t *Tree) WaitGone(ctx context.Context, programs ...Program) error {
	w, err := t.newWatch()
	if err != nil {
		return err
	}
	defer w.close()
	for {
		members, err := t.live(programs)
		if err != nil {
			return err
		}
		if len(members) == 0 {
			return nil
		}
		for _, m := range members {
			w.add(m)
		}
		for len(w.held) > 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := w.wait(ctx); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}
