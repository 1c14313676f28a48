package deploy

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhoDoesNotKnowThePasswordAsksWhetherAllIsReady(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	d, said := managed(t, &fakeBackend{}, func(w http.ResponseWriter, r *http.Request) {
		if _, _, sent := r.BasicAuth(); sent || r.URL.Path != "/readyz" {
			t.Errorf("asked %s with a password: %v", r.URL, sent)
		}
		switch asked.Add(1) {
		case 1:
			w.WriteHeader(http.StatusBadGateway)
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
			reply(t, w, map[string]any{"status": 503, "nodes": []string{"frontend"}})
		default:
			reply(t, w, map[string]any{"status": "ready"})
		}
	})
	d.Info.External = []string{"shop_manager-password"}
	if _, err := d.wait(t.Context(), "admin", ""); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("backend: answers\nfrontend: answers\n", said.String()); diff != "" {
		t.Error(diff)
	}
}
