package fleet_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/fakeunit"
	"github.com/toskose/toskose/manager/fleet"
	"github.com/toskose/toskose/manager/rest"
)

func TestAnIDIsOneExecution(t *testing.T) {
	t.Parallel()
	u := fakeunit.Backend("i1", nil, fakeunit.End{Target: "configured"})
	e := newEngine(t, fakeunit.Containers{"backend": {u.Start(t, configured)}}, fleet.Options{})
	req := startAPI
	req.ID = "mine"
	for range 2 {
		if x, err := run(t, e, req); err != nil || x.ID != "mine" {
			t.Fatalf("got %+v, %v", x, err)
		}
	}
	if ran := u.Executed(); len(ran) != 1 {
		t.Errorf("it ran %q", ran)
	}
	other := req
	other.Inputs = rest.Inputs{"port": "81"}
	if _, err := e.Start(t.Context(), other); !errors.Is(err, rest.ErrReused) {
		t.Errorf("the same id with other inputs: %v", err)
	}
	for _, id := range []string{"a b", "..", strings.Repeat("x", 65), "goal-1", "key-1"} {
		req.ID = id
		if _, err := e.Start(t.Context(), req); !errors.Is(err, rest.ErrInvalid) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// TestAKeyIsOneExecution: another manager of the application derives the same id from it.
func TestAKeyIsOneExecution(t *testing.T) {
	t.Parallel()
	u := fakeunit.Backend("i1", nil, fakeunit.End{Target: "configured"})
	found := fakeunit.Containers{"backend": {u.Start(t, configured)}}
	req := startAPI
	req.Key = "retried"
	var ids []string
	for range 2 {
		x, err := run(t, newEngine(t, found, fleet.Options{}), req)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, x.ID)
	}
	if ran := u.Executed(); len(ran) != 1 || ids[0] != ids[1] || !strings.HasPrefix(ids[0], "key-") {
		t.Errorf("%q ran %q", ids, ran)
	}
	e := newEngine(t, found, fleet.Options{})
	e.fleet.Complete(t.Context())
	other := req
	other.Timeout = time.Hour.Seconds()
	if _, err := e.Start(t.Context(), other); !errors.Is(err, rest.ErrReused) {
		t.Errorf("another request with the key: %v", err)
	}
	other.ID = "mine"
	if _, err := e.Start(t.Context(), other); !errors.Is(err, rest.ErrInvalid) {
		t.Errorf("an id and a key: %v", err)
	}
}
