package deploy

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/toskose/toskose/packager/release"
)

// TestNothingIsTakenBackBeforeTheOrchestratorHasEnded its own rollbacks.
func TestNothingIsTakenBackBeforeTheOrchestratorHasEnded(t *testing.T) {
	t.Parallel()
	d, said := managed(t, &fakeBackend{}, func(http.ResponseWriter, *http.Request) {})
	failed, gone := errors.New("store does not come up"), errors.New("the swarm is gone")
	d.release, d.Log = "new", release.Log{{Release: "old", Folder: t.TempDir()}}
	d.halt = func(context.Context) error { return gone }
	if err := d.goBack(t.Context(), failed); !errors.Is(err, failed) || !errors.Is(err, gone) || said.Len() > 0 {
		t.Errorf("it ends with %v and says %q", err, said)
	}
	d.halt = func(context.Context) error { return nil }
	if err := d.goBack(t.Context(), failed); !errors.Is(err, failed) || !strings.Contains(said.String(), "back to release old") {
		t.Errorf("it ends with %v and says %q", err, said)
	}
}
