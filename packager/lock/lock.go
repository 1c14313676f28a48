// Package lock prevents commands from changing an application concurrently. A lock is stored on the platform of the
// application: as a labelled volume of an engine, a labelled config of a swarm, or a Lease of a cluster. An acquired lock owns
// one goroutine, which renews the lock and ends with Release.
package lock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// Record describes the holder of a lock.
type Record struct {
	ID      string    `json:"id"`      // random ID of the acquisition
	Owner   string    `json:"owner"`   // USER@HOST
	Process int       `json:"process"` // process ID
	Command string    `json:"command"`
	Intent  string    `json:"intent,omitempty"` // intent of the command, for a command that takes over its lock
	Since   time.Time `json:"since"`            // informational
	Origin  string    `json:"origin,omitempty"` // scope in which the process ID is valid
	Started string    `json:"started,omitempty"`
	Renewed int       `json:"renewed"` // number of renewals
}

func (r Record) String() string {
	return fmt.Sprintf("%s, by process %d (`%s`), since %s", r.Owner, r.Process, r.Command, r.Since.UTC().Format(time.RFC3339))
}

// Store stores the lock of one application. Each method either succeeds or changes nothing. A version identifies a record; two
// consecutive records have different versions.
type Store interface {
	// Read returns the record and its version, or nil if no record exists.
	Read(ctx context.Context) (held *Record, version string, err error)
	// Create stores a record if none exists.
	Create(ctx context.Context, r Record) (version string, err error)
	// Replace replaces the record of a version.
	Replace(ctx context.Context, r Record, version string) (string, error)
	// Remove removes the record of a version.
	Remove(ctx context.Context, version string) error
}

// ErrChanged is returned by a Store if the record does not have the expected version.
var ErrChanged = errors.New("another command has changed the lock")

// ErrLost is the cause of canceled contexts after the lock was lost.
var ErrLost = errors.New("the lock is lost")

// HeldError is returned when another command holds the lock.
type HeldError struct {
	App    string
	Holder Record
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("%q is locked by %s: run this command again when that one has ended, or with --steal-lock if it hangs", e.App, e.Holder)
}

// TTL is how long a lock stays valid after its last renewal.
const TTL = 30 * time.Second

// Options configure the acquisition of a lock.
type Options struct {
	App     string
	Owner   string // USER@HOST
	Command string
	Intent  string        // see Record
	Steal   bool          // take over the lock from a command that may still be running
	TTL     time.Duration // 0: TTL
	Say     func(line string)
}

// Lock is a held lock.
type Lock struct {
	store   Store
	opts    Options
	record  Record
	version string
	before  *Record // record of the lock that was taken over; nil: the application was not locked

	stop, ended chan struct{}
	lost        context.Context // canceled with the cause when the lock is lost
	lose        context.CancelCauseFunc
	released    sync.Once
}

// renewals is the number of renewals per TTL. A lock that cannot be renewed is given up after two thirds of the TTL, before
// another command may take it over.
const renewals = 6

// Acquire acquires a lock. It fails with a *HeldError if another command holds the lock. If the holder's process is known here
// to have exited, the lock is taken over at once. Otherwise it is taken over if it is not renewed for its TTL as measured by
// this process's clock: clocks of different machines are not compared.
func Acquire(ctx context.Context, store Store, opts Options) (*Lock, error) {
	if opts.TTL == 0 {
		opts.TTL = TTL
	}
	l := &Lock{store: store, opts: opts, stop: make(chan struct{}), ended: make(chan struct{})}
	l.record = Record{
		ID: rand.Text(), Owner: opts.Owner, Process: os.Getpid(), Command: opts.Command, Intent: opts.Intent, Since: time.Now().UTC().Truncate(time.Second),
		Origin: origin(), Started: startOf(os.Getpid()),
	}
	wait, err := l.acquire(ctx)
	if err != nil {
		return nil, err
	}
	outliving := context.WithoutCancel(ctx) // cleanup after an interruption still needs the lock
	l.lost, l.lose = context.WithCancelCause(outliving)
	go l.renew(outliving, time.Now())
	select {
	case <-time.After(wait):
		return l, nil
	case <-ctx.Done():
	case <-l.lost.Done():
	}
	l.Release(ctx)
	return nil, errors.Join(context.Cause(ctx), l.Err())
}

// acquire acquires the lock and returns how long to wait before the application may be changed.
func (l *Lock) acquire(ctx context.Context) (wait time.Duration, err error) {
	for {
		held, version, err := l.store.Read(ctx)
		switch {
		case err != nil:
		case held == nil:
			l.version, err = l.store.Create(ctx, l.record)
		default:
			if wait, err = l.checkTakeover(ctx, *held, version); err == nil {
				l.version, err = l.store.Replace(ctx, l.record, version)
				l.before = held
			}
		}
		switch {
		case err == nil:
			return wait, nil
		case !errors.Is(err, ErrChanged):
			return 0, err
		case ctx.Err() != nil:
			return 0, context.Cause(ctx)
		}
	}
}

// checkTakeover returns nil if the lock may be taken over, and ErrChanged if it was released meanwhile.
func (l *Lock) checkTakeover(ctx context.Context, held Record, version string) (wait time.Duration, err error) {
	switch state := stateOf(held); {
	case state == exited:
		l.opts.Say(fmt.Sprintf("%s: the command that holds the lock was interrupted: %s", l.opts.App, held))
		return 0, nil
	case l.opts.Steal:
		wait = l.opts.TTL / renewals * 2
		l.opts.Say(fmt.Sprintf("%s: taking over the lock of %s; waiting %s for that command to stop", l.opts.App, held, wait))
		return wait, nil
	case state == running:
		return 0, &HeldError{l.opts.App, held}
	}
	l.opts.Say(fmt.Sprintf("%s: waiting up to %s to see whether the lock is in use: it is held by %s", l.opts.App, l.opts.TTL, held))
	expired := time.NewTimer(l.opts.TTL)
	defer expired.Stop()
	ticker := time.NewTicker(l.opts.TTL / renewals / 2)
	defer ticker.Stop()
	for {
		select {
		case <-expired.C:
			return 0, nil
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-ticker.C:
		}
		now, is, err := l.store.Read(ctx)
		switch {
		case err != nil:
			return 0, err
		case now == nil:
			return 0, ErrChanged
		case is != version:
			return 0, &HeldError{l.opts.App, *now}
		}
	}
}

// renew renews the lock until it is released or lost.
func (l *Lock) renew(parent context.Context, good time.Time) {
	defer close(l.ended)
	ticker := time.NewTicker(l.opts.TTL / renewals)
	defer ticker.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-ticker.C:
		}
		began := time.Now()
		ctx, cancel := context.WithDeadline(parent, good.Add(l.opts.TTL*2/3))
		err := l.renewOnce(ctx)
		expired := ctx.Err() != nil
		cancel()
		switch {
		case err == nil:
			good = began
		case errors.Is(err, ErrLost):
			l.lose(err)
			return
		case expired:
			l.lose(fmt.Errorf("%w: it cannot be renewed: %w", ErrLost, err))
			return
		}
	}
}

func (l *Lock) renewOnce(ctx context.Context) error {
	l.record.Renewed++
	version, err := l.store.Replace(ctx, l.record, l.version)
	if err == nil {
		l.version = version
	}
	if !errors.Is(err, ErrChanged) {
		return err
	}
	held, version, err := l.store.Read(ctx)
	switch {
	case err != nil:
		return err
	case held == nil:
		return fmt.Errorf("%w: it was removed", ErrLost)
	case held.ID != l.record.ID:
		return fmt.Errorf("%w: %s has taken it over", ErrLost, held)
	}
	l.version = version // the response to an earlier renewal was lost
	return nil
}

// While returns a context that is canceled when its parent is canceled or the lock is lost.
func (l *Lock) While(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	stop := context.AfterFunc(l.lost, func() { cancel(context.Cause(l.lost)) })
	return ctx, func() { stop(); cancel(nil) }
}

// Interrupted returns the record of the command whose lock was taken over, or nil if the previous command released its lock.
func (l *Lock) Interrupted() *Record { return l.before }

// Err returns the reason why the lock was lost, or nil while it is held.
func (l *Lock) Err() error { return context.Cause(l.lost) }

// releaseTimeout is the timeout for releasing a lock. A lock that is not released expires.
const releaseTimeout = 10 * time.Second

// Release removes the lock, even if the context has ended. It does nothing if the lock was lost.
func (l *Lock) Release(ctx context.Context) {
	l.released.Do(func() {
		close(l.stop)
		<-l.ended
		if l.Err() != nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
		defer cancel()
		if err := l.store.Remove(ctx, l.version); err != nil && !errors.Is(err, ErrChanged) {
			l.opts.Say(fmt.Sprintf("%s: the lock cannot be released, and expires in %s: %v", l.opts.App, l.opts.TTL, err))
		}
		l.lose(ErrLost)
	})
}
