package proctree

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/toskose/toskose/internal/sleep"
)

// SentSignal is a signal that was sent to a process.
type SentSignal struct {
	Process Process
	Signal  syscall.Signal
}

// EndResult describes what [Tree.End] did.
type EndResult struct {
	Signalled []SentSignal // in order
	Refused   []Process    // alive, but we may not signal them
	Left      []Process    // alive when End returned, including Refused; empty if all have ended
}

// Killed returns the processes that received KILL.
func (e *EndResult) Killed() []Process {
	var killed []Process
	for _, s := range e.Signalled {
		if s.Signal == syscall.SIGKILL {
			killed = append(killed, s.Process)
		}
	}
	return killed
}

// End ends all processes of the given programs: TERM at once, and KILL after the grace period; with
// a grace of 0 or less, KILL at once. It returns when all have ended (zombies count as ended), when
// we may not signal the remaining ones, or with ctx's error when ctx is done. Give ctx a deadline:
// a process stuck in a system call survives even KILL. The EndResult is valid even with an error.
//
// Processes fork while they are being ended, so End looks again after signalling and whenever one
// has ended, and signals new ones. One exception: a process forked by one that has received TERM
// belongs to its shutdown, such as a trap's clean-up. It is left alone until its parent has ended
// or the grace period is over.
func (t *Tree) End(ctx context.Context, programs []Program, grace time.Duration) (EndResult, error) {
	w, err := t.newWatch()
	if err != nil {
		return EndResult{}, err
	}
	defer w.close()
	e := &endCall{tree: t, watch: w, programs: programs}
	gone := false
	if grace > 0 {
		graceCtx, cancel := context.WithTimeout(ctx, grace)
		gone, err = e.signalUntilGone(graceCtx, syscall.SIGTERM)
		cancel()
	}
	if !gone && err == nil && ctx.Err() == nil {
		gone, err = e.signalUntilGone(ctx, syscall.SIGKILL)
	}
	if !gone && err == nil {
		err = ctx.Err() // nil if none of the rest may be signalled
	}
	for _, m := range e.left {
		p := t.describe(m)
		e.result.Left = append(e.result.Left, p)
		if h := w.handles[m.id()]; h != nil && h.refused {
			e.result.Refused = append(e.result.Refused, p)
		}
	}
	return e.result, err
}

// endCall is one call of End.
type endCall struct {
	tree     *Tree
	watch    *watch
	programs []Program
	result   EndResult
	left     []*entry // the live members at the last look

	looked time.Time     // end of the last look
	took   time.Duration // duration of the last look
}

// signalUntilGone signals all members until an exact look finds none, ctx is done, or, for KILL,
// only processes remain that we may not signal.
func (e *endCall) signalUntilGone(ctx context.Context, sig syscall.Signal) (gone bool, err error) {
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
			e.throttle(ctx, chase, sig)
			continue
		}
		chase = 0
		if err := e.wait(ctx); err != nil {
			return false, err
		}
	}
}

// throttle keeps the pursuit of processes that fork continuously from using a whole processor until
// the grace period is over. KILL is not throttled, since it has to be faster than the forks.
func (e *endCall) throttle(ctx context.Context, chase int, sig syscall.Signal) {
	const patience = 10
	if chase > patience && sig != syscall.SIGKILL {
		_ = sleep.For(ctx, max(share*e.took, time.Millisecond))
	}
}

// share is the ratio of the pause after a look to its duration, which bounds the share of a
// processor used for looking.
const share = 4

// look finds the live members and drops ended ones. Only if it is settled is an empty
// result conclusive.
func (e *endCall) look() (members []*entry, settled bool, err error) {
	began := time.Now()
	if !e.looked.IsZero() && len(e.watch.handles) == 0 && e.tree.allGone(e.programs) {
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
	for id, h := range e.watch.handles {
		if !alive[id] {
			e.watch.drop(h)
		}
	}
	return members, true, nil
}

// signal sends sig to the members that have not received it yet. fresh reports whether there were
// any, hopeless whether we may not signal any member.
func (e *endCall) signal(members []*entry, sig syscall.Signal) (fresh, hopeless bool) {
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

func (e *endCall) send(h *handle, sig syscall.Signal) {
	err := e.tree.signal(h, sig)
	if err == nil {
		e.result.Signalled = append(e.result.Signalled, SentSignal{h.process, sig})
	}
	if errors.Is(err, os.ErrProcessDone) {
		e.watch.drop(h)
	}
}

// forkedWhileEnding reports whether a member was forked by a live process that had already received
// TERM, or by such a child in turn.
func (e *endCall) forkedWhileEnding(m *entry, members map[int]*entry) bool {
	for range members { // no chain of parents is longer
		parent := members[m.ppid]
		if parent == nil || parent.start > m.start {
			return false
		}
		if h := e.watch.handles[parent.id()]; h != nil && h.sent == syscall.SIGTERM {
			return m.start >= h.sentAt
		}
		m = parent
	}
	return false
}

// wait blocks until another look can find a change. Members often end one after the other, and each end
// is a reason to look. To keep the cost of many members linear, the pause between two looks is at
// least four times as long as a look, unless all members have ended.
func (e *endCall) wait(ctx context.Context) error {
	if err := e.watch.wait(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithDeadline(ctx, e.looked.Add(share*e.took))
	defer cancel()
	for ctx.Err() == nil && len(e.watch.handles) > 0 {
		if err := e.watch.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Signal sends a signal to all live processes of the given programs. It returns those that received
// it and those that we may not signal.
func (t *Tree) Signal(programs []Program, sig syscall.Signal) (reached, refused []Process, err error) {
	members, err := t.live(programs)
	if err != nil {
		return nil, nil, err
	}
	for _, m := range members {
		h, ok := t.openHandle(m)
		if !ok {
			continue
		}
		h.suspended = false // a caller that chooses the signal can send CONT as well
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

// ErrUnproven means that no process of a program was found for a while, although an exact look was
// impossible because other processes fork too fast.
var ErrUnproven = errors.New("no process of it was found, but others are forked faster than they can be listed")

// unprovenTime is how long WaitGone finds no process before it gives up proving that there is none.
const unprovenTime = 500 * time.Millisecond

// WaitGone returns when an exact look finds no live process of the given programs, or with ctx's
// error when ctx is done. Waiting is cheap: it reads /proc again only when all known processes have
// ended. It returns ErrUnproven if no exact look is possible but the looks of unprovenTime found no
// process.
func (t *Tree) WaitGone(ctx context.Context, programs ...Program) error {
	w, err := t.newWatch()
	if err != nil {
		return err
	}
	defer w.close()
	var unproven time.Time // start of the current series of looks without a result; zero: none
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
		for len(w.handles) > 0 && ctx.Err() == nil {
			if err := w.wait(ctx); err != nil {
				return err
			}
		}
		if look > 0 && unproven.IsZero() { // they may be ending as fast as they are found
			_ = sleep.For(ctx, time.Until(looked.Add(share*looked.Sub(began))))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}
