package contexts

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestEachTerminalSessionSelectsItsOwnContext: a shell never switches the context of another.
func TestEachTerminalSessionSelectsItsOwnContext(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, other := Store{dir, "1"}, Store{dir, "2"}
	current := func(s Store, want string) {
		t.Helper()
		if name, err := s.Current(); name != want || (want == "") != errors.Is(err, ErrNone) {
			t.Errorf("session %s: %q, %v, want %q", s.session, name, err, want)
		}
	}
	current(one, "")
	for _, name := range []string{"shop", "wiki"} {
		if err := one.Put(name, Context{Manager: "http://localhost:1"}); err != nil {
			t.Fatal(err)
		}
		if name == "shop" {
			current(one, "shop") // the only one needs no selection
			current(other, "shop")
		}
	}
	if _, err := other.Current(); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "shop, wiki") {
		t.Errorf("one of several: %v", err)
	}
	for _, use := range []struct {
		Store
		name string
	}{{one, "shop"}, {other, "wiki"}} {
		if err := use.Use(use.name); err != nil {
			t.Fatal(err)
		}
	}
	current(one, "shop")
	current(other, "wiki")
	if err := one.Put("third", Context{Manager: "http://localhost:1"}); err != nil {
		t.Fatal(err)
	}
	if err := other.Remove("shop"); err != nil {
		t.Fatal(err)
	}
	current(one, "")
	current(other, "wiki")
}

func TestSelectionsOfEndedSessionsAreRemoved(t *testing.T) {
	t.Parallel()
	s := Store{t.TempDir(), "1"}
	if err := s.Put("shop", Context{Manager: "http://localhost:1"}); err != nil {
		t.Fatal(err)
	}
	old := Store{s.dir, "0"}
	if err := old.Use("shop"); err != nil {
		t.Fatal(err)
	}
	ago := time.Now().Add(-abandoned - time.Hour)
	if err := os.Chtimes(old.selection(), ago, ago); err != nil {
		t.Fatal(err)
	}
	if err := s.Use("shop"); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(s.dir, "sessions", "*")); err != nil || len(left) != 1 || left[0] != s.selection() {
		t.Errorf("%q, %v", left, err)
	}
}

func TestASessionHasAName(t *testing.T) {
	t.Parallel()
	if name := sessionName(); name == "" || name != sessionName() || strings.ContainsAny(name, `/\`) {
		t.Errorf("%q", name)
	}
}
