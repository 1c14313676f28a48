package api

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/rest"
)

// Rate limits for goal events: with very many components, the remaining steps are long.
const (
	goalPause  = 100 * time.Millisecond // minimum interval
	goalVolume = 300_000                // maximum bytes per second
)

// goalSource returns the goal.
type goalSource interface {
	Goal() rest.Goal
	GoalChanged() <-chan struct{}
}

// goalStreams encodes the goal once for all event streams that include it, and only after it was evaluated again.
type goalStreams struct {
	mu      sync.Mutex
	changed <-chan struct{} // closed when text is outdated; nil: no text
	due     time.Time       // when text expires regardless; zero: never
	text    string
}

// goalCheck is how often a stream checks that the goal is still reached.
const goalCheck = 5 * time.Second

// now returns the goal as an event, a channel that is closed when it may have changed, and the time by which to
// check again regardless (zero: never).
func (s *goalStreams) now(app goalSource) (text string, changed <-chan struct{}, due time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.changed:
	default:
		if s.changed != nil && (s.due.IsZero() || time.Now().Before(s.due)) {
			return s.text, s.changed, s.due
		}
	}
	s.changed = app.GoalChanged() // first: it may change in between
	view := app.Goal()
	if s.due = (time.Time{}); view.Done || view.Unconfirmed {
		s.due = time.Now().Add(goalCheck)
	}
	data, err := json.Marshal(view)
	if err != nil {
		panic(err) // recovered, logged and reported as an internal error
	}
	s.text = "event: " + manager.EventGoal + "\ndata: " + string(data) + "\n\n"
	return s.text, s.changed, s.due
}

// goalStream is the goal on one stream. Its events have no id: a client that reconnects gets the current goal.
type goalStream struct {
	of      *goalStreams
	app     goalSource
	wanted  bool
	said    string
	at      time.Time
	changed <-chan struct{}
	check   time.Time   // when to check the goal again regardless; zero: never
	turn    atomic.Bool // the goal is due again
}

func (s *goalStreams) follow(app goalSource, r *http.Request) (*goalStream, error) {
	wanted, err := flag(r, "goal")
	return &goalStream{of: s, app: app, wanted: wanted}, err
}

// event returns the goal, or a comment if it has not changed since the last event.
func (s *goalStream) event() string {
	if !s.wanted {
		return ""
	}
	var text string
	text, s.changed, s.check = s.of.now(s.app)
	if text == s.said {
		return stillHere
	}
	s.said, s.at = text, time.Now()
	return text
}

// until returns a context that also ends when the goal is due again.
func (s *goalStream) until(ctx context.Context) context.Context {
	if !s.wanted {
		return ctx
	}
	ctx, cancel := context.WithCancel(ctx)
	changed, check, due := s.changed, s.check, s.at.Add(goalPause+time.Duration(len(s.said))*time.Second/goalVolume)
	go func() {
		defer cancel()
		var checking <-chan time.Time
		if !check.IsZero() {
			checking = time.After(time.Until(check))
		}
		select {
		case <-changed:
		case <-checking:
		case <-ctx.Done():
			return
		}
		timer := time.NewTimer(time.Until(due))
		defer timer.Stop()
		select {
		case <-timer.C:
			s.turn.Store(true)
		case <-ctx.Done():
		}
	}()
	return ctx
}

// due reports whether the context of until ended because the goal was due.
func (s *goalStream) due() bool { return s.turn.Swap(false) }
