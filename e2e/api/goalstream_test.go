package api_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/api"
	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/rest"
)

// striving is an application whose goal is looked at again now and then.
type striving struct {
	app
	mu      sync.Mutex
	reached int
	ahead   int
	changed chan struct{}
	asked   int
}

func (s *striving) Goal() rest.Goal {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	return rest.Goal{State: "up", Reached: s.reached, Ahead: make([]goal.Ahead, s.ahead)}
}

func (s *striving) GoalChanged() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

func (*striving) Events(string) func(context.Context) ([]manager.Event, error) {
	return func(ctx context.Context) ([]manager.Event, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
}

// look looks at the goal again; by is how much of it is reached since.
func (s *striving) look(by int) {
	s.mu.Lock()
	s.reached += by
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()
	synctest.Wait()
}

// heard is what a client was sent.
type heard struct {
	http.ResponseWriter
	mu   sync.Mutex
	text strings.Builder
}

func (h *heard) Write(text []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(text)
}

func (*heard) Flush() {}

// goals is how often it was told of the goal.
func (h *heard) goals() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Count(h.text.String(), "event: goal\ndata: {")
}

func TestAStreamTellsOfTheGoalWhereThatIsWanted(t *testing.T) {
	t.Parallel()
	gate := fresh(t) // failures of others would lie in the future there
	synctest.Test(t, func(t *testing.T) {
		s := &striving{changed: make(chan struct{})}
		h, err := api.New(s, api.Options{Access: gate, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		follow := func(path string) *heard {
			w := &heard{ResponseWriter: httptest.NewRecorder()}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
			r.SetBasicAuth("admin", "pw")
			go h.ServeHTTP(w, r)
			synctest.Wait()
			return w
		}
		one, two, without := follow("/api/v1/events?goal=true"), follow("/api/v1/events?goal=true"), follow("/api/v1/events")
		expect := func(when string, told, asked int) {
			t.Helper()
			if one.goals() != told || two.goals() != told || without.goals() != 0 {
				t.Errorf("%s, streams were told %d, %d and %d times, not %d", when, one.goals(), two.goals(), without.goals(), told)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.asked != asked {
				t.Errorf("%s, the goal was asked for %d times, not %d", when, s.asked, asked)
			}
		}
		expect("at first", 1, 1)
		time.Sleep(time.Minute)
		synctest.Wait()
		expect("while nothing happens", 1, 1)
		s.look(0)
		expect("where it is as it was", 1, 2)
		for range 10 {
			s.look(1)
		}
		expect("at once", 2, 3)
		time.Sleep(time.Second)
		synctest.Wait()
		expect("after very much", 3, 4)
		s.mu.Lock()
		s.ahead = 30_000
		s.mu.Unlock()
		s.look(1)
		time.Sleep(time.Second)
		synctest.Wait()
		expect("with a long plan", 4, 5)
		s.look(1)
		time.Sleep(time.Second)
		synctest.Wait()
		expect("soon after a long one", 4, 5)
		time.Sleep(time.Minute)
		synctest.Wait()
		expect("later", 5, 6)
	})
	h := handler(t, &app{})
	if w := ask(t, h, "GET", "/api/v1/events?goal=perhaps", ""); w.Code != http.StatusUnprocessableEntity {
		t.Errorf("status %d", w.Code)
	}
}
