package fakeunit

import (
	"net/http"
	"strings"
	"sync"
)

// Trace records the requests that a unit receives, except those of the mirror and the goal's keeper.
type Trace struct {
	mu       sync.Mutex
	requests []string
}

// Wrap returns a handler that records requests before they reach the unit.
func (t *Trace) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/journal" && !strings.HasPrefix(r.URL.Path, "/documents/") {
			t.mu.Lock()
			t.requests = append(t.requests, r.Method+" "+r.URL.Path)
			t.mu.Unlock()
		}
		next.ServeHTTP(w, r)
	})
}

// Take returns the requests since the last call, with ID in place of the given ids.
func (t *Trace) Take(ids ...string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := t.requests
	t.requests = nil
	for i := range taken {
		for _, id := range ids {
			taken[i] = strings.ReplaceAll(taken[i], id, "ID")
		}
	}
	return taken
}
