package manager

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/toskose/toskose/internal/sleep"
	"github.com/toskose/toskose/manager/attach"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/spec"
)

// Learner runs the App of an application whose attached nodes have the programs of their units as components. When the
// programs change, it replaces the App, as a restart of the manager does: units keep the goal and the executions, and
// clients connect again. Its methods are safe for concurrent use.
type Learner struct {
	app  *spec.Application
	opts Options

	mu       sync.Mutex
	current  *App
	closed   bool
	programs attach.Programs                   // as last reported; of Run's goroutine
	built    map[string][]spec.AttachedProgram // of the current App
}

// NewLearner returns a Learner whose App has no programs yet. Run learns them.
func NewLearner(app *spec.Application, opts Options) (*Learner, error) {
	l := &Learner{app: app, opts: opts.withDefaults()}
	var err error
	l.current, err = New(attach.Model(app, nil), opts)
	return l, err
}

// Current returns the current App.
func (l *Learner) Current() *App {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current
}

// App returns the state of the application.
func (l *Learner) App(ctx context.Context, d Detail) rest.App { return l.Current().App(ctx, d) }

// Goal returns the state of the goal.
func (l *Learner) Goal() rest.Goal { return l.Current().Goal() }

// Close ends the current App, and every Run.
func (l *Learner) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.current.Close()
}

const (
	// learnPause is the shortest interval between two looks at what units report.
	learnPause = 100 * time.Millisecond
	// learnTime is how long changes wait until the state of all nodes is known, so that a new manager replaces its App
	// once and not for each node.
	learnTime = time.Second
)

// Run learns the programs of attached nodes until ctx ends or Close. To replace the App, it calls replace, which calls
// next: that ends the current App and starts another. If that fails, Run returns an error, without an App.
func (l *Learner) Run(ctx context.Context, replace func(next func() (*App, error)) error) error {
	if !slices.ContainsFunc(l.app.Nodes, func(n spec.Node) bool { return n.Attached != nil }) {
		return nil
	}
	for begun := (time.Time{}); ctx.Err() == nil; {
		life := l.Current().fleet.Life()
		now := l.Current().fleet.Snapshot()
		l.logRefused(l.programs.Update(l.app, now))
		var due <-chan time.Time
		switch {
		case maps.EqualFunc(l.programs.Of(), l.built, slices.Equal):
			begun = time.Time{}
		case now.Complete() || !begun.IsZero() && time.Since(begun) >= learnTime:
			begun = time.Time{}
			if err := replace(l.next); errors.Is(err, errClosed) {
				return nil
			} else if err != nil {
				return err
			}
			continue
		default:
			if begun.IsZero() {
				begun = time.Now()
			}
			due = time.After(learnTime - time.Since(begun))
		}
		_ = sleep.For(ctx, learnPause)
		select {
		case <-now.Superseded():
		case <-due:
		case <-life.Done():
			return nil
		case <-ctx.Done():
		}
	}
	return nil
}

func (l *Learner) logRefused(refused map[string][]string) {
	for _, node := range slices.Sorted(maps.Keys(refused)) {
		for _, why := range refused[node] {
			l.opts.Logger.Warn("a program is ignored", "node", node, "why", why)
		}
	}
}

var errClosed = errors.New("the manager is shutting down")

// next replaces the current App by one with the programs that are known now.
func (l *Learner) next() (*App, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errClosed
	}
	l.current.Close() // two goals are never kept at the same time
	l.built = maps.Clone(l.programs.Of())
	app, err := New(attach.Model(l.app, l.built), l.opts)
	if err != nil {
		return nil, err
	}
	for node, programs := range l.built {
		l.opts.Logger.Info("programs", "node", node, "number", len(programs))
	}
	l.current = app
	return app, nil
}
