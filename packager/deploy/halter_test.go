package deploy

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/toskose/toskose/packager/release"
)

// halting is where an orchestrator takes updates back by itself.
type halting struct {
	*fakeBackend
	end error
}

func (h halting) Halt(context.Context) error { return h.end }

// TestNothingIsTakenBackBeforeTheOrchestratorHasEnded with what it does by itself.
func TestNothingIsTakenBackBeforeTheOrchestratorHasEnded(t *testing.T) {
	t.Parallel()
	d, said := managed(t, &fakeBackend{}, func(http.ResponseWriter, *http.Request) {})
	failed, gone := errors.New("store does not come up"), errors.New("the swarm is gone")
	d.where, d.release, d.Log = halting{&fakeBackend{}, gone}, "new", release.Log{{Release: "old", Folder: t.TempDir()}}
	if err := d.goBack(t.Context(), failed); !errors.Is(err, failed) || !errors.Is(err, gone) || said.Len() > 0 {
		t.Errorf("it ends with %v and says %q", err, said)
	}
	d.where = halting{&fakeBackend{}, nil}
	if err := d.goBack(t.Context(), failed); !errors.Is(err, failed) || !strings.Contains(said.String(), "back to release old") {
		t.Errorf("it ends with %v and says %q", err, said)
	}
}
