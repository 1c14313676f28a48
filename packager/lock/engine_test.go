package lock

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/volume"

	"github.com/toskose/toskose/packager/internal/engine"
)

// keeps checks what every store has to do.
func keeps(t *testing.T, s Store) {
	t.Helper()
	ctx := t.Context()
	record := func(id string) Record { return Record{ID: id, Owner: id + "@office"} }
	holder := func(want string) string {
		t.Helper()
		r, version, err := s.Read(ctx)
		if err != nil || r == nil || r.ID != want {
			t.Fatalf("%+v holds it, want %s: %v", r, want, err)
		}
		return version
	}
	if r, _, err := s.Read(ctx); r != nil || err != nil {
		t.Fatalf("at first it has %+v, %v", r, err)
	}
	first, err := s.Create(ctx, record("ada"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(ctx, record("eve")); !errors.Is(err, ErrChanged) || holder("ada") != first {
		t.Errorf("the second is created, too: %v", err)
	}
	second, err := s.Replace(ctx, record("bob"), first)
	if err != nil || second == first || holder("bob") != second {
		t.Fatalf("it is of version %q after %q: %v", second, first, err)
	}
	if _, err := s.Replace(ctx, record("eve"), first); !errors.Is(err, ErrChanged) {
		t.Errorf("what was replaced is replaced again: %v", err)
	}
	if err := s.Remove(ctx, first); !errors.Is(err, ErrChanged) || holder("bob") != second {
		t.Errorf("what was replaced is removed: %v", err)
	}
	if err := s.Remove(ctx, second); err != nil {
		t.Error(err)
	}
	if r, _, err := s.Read(ctx); r != nil || err != nil {
		t.Fatalf("in the end it has %+v, %v", r, err)
	}
	if _, err := s.Replace(ctx, record("eve"), second); !errors.Is(err, ErrChanged) {
		t.Errorf("what was removed is replaced: %v", err)
	}
	if err := s.Remove(ctx, second); !errors.Is(err, ErrChanged) {
		t.Errorf("what was removed is removed again: %v", err)
	}
	oneWins(t, s)
}

// oneWins has many callers create a record, and replace it, at the same time.
func oneWins(t *testing.T, s Store) {
	t.Helper()
	version := ""
	for range 5 {
		var mutex sync.Mutex
		var won []string
		var group sync.WaitGroup
		for i := range 8 {
			group.Go(func() {
				r := Record{ID: string(rune('a' + i))}
				now, err := "", error(nil)
				if version == "" {
					now, err = s.Create(t.Context(), r)
				} else {
					now, err = s.Replace(t.Context(), r, version)
				}
				mutex.Lock()
				defer mutex.Unlock()
				switch {
				case err == nil:
					won = append(won, now)
				case !errors.Is(err, ErrChanged):
					t.Error(err)
				}
			})
		}
		group.Wait()
		if len(won) != 1 {
			t.Fatalf("%d callers have replaced version %q: %q", len(won), version, won)
		}
		version = won[0]
	}
	if err := s.Remove(t.Context(), version); err != nil {
		t.Error(err)
	}
}

func appOf(t *testing.T) string {
	return strings.ToLower(t.Name()) + "-" + strings.ReplaceAll(os.Getenv("USER"), " ", "")
}

func TestAnEngineKeepsALock(t *testing.T) {
	t.Parallel()
	docker := engine.Connect(t)
	app := appOf(t)
	none := func() {
		t.Helper()
		left, err := docker.VolumeList(t.Context(), volume.ListOptions{Filters: filters.NewArgs(filters.Arg("name", app))})
		if err != nil || len(left.Volumes) > 0 {
			t.Fatalf("%d volumes are left: %v", len(left.Volumes), err)
		}
	}
	none()
	keeps(t, OnEngine(docker, app))
	none()
}
