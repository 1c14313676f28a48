package deploy

import (
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/docker/docker/client"

	"github.com/toskose/toskose/packager/deploy/backend"
	"github.com/toskose/toskose/packager/deploy/engine"
	testengine "github.com/toskose/toskose/packager/internal/engine"
)

// volumeEngine is an engine with a volume of the application "shop" and one for
// documents of a unit, which the engine still uses for a moment.
func volumeEngine(t *testing.T) (_ *client.Client, removed func() []string) {
	t.Helper()
	var mu sync.Mutex
	var gone []string
	asked := 0
	docker := testengine.Fake(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		name := path.Base(r.URL.Path)
		switch {
		case r.Method == http.MethodGet && strings.Contains(r.URL.RawQuery, "compose"):
			_, _ = io.WriteString(w, `{"Volumes": []}`)
		case r.Method == http.MethodGet:
			_, _ = io.WriteString(w, `{"Volumes": [{"Name": "shop_data", "Labels": {"other": "x"}}, {"Name": "shop_plain"},
				{"Name": "shop_api-documents", "Labels": {"io.toskose.documents": "api"}}]}`)
		case name == "shop_api-documents" && asked == 0:
			asked++
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, `{"message": "volume is in use"}`)
		default:
			gone = append(gone, name)
			w.WriteHeader(http.StatusNoContent)
		}
	})
	return docker, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(gone)
	}
}

func TestWhatUnitsKeepGoesAlsoWhereVolumesStay(t *testing.T) {
	t.Parallel()
	documents, all := []string{"shop_api-documents"}, []string{"shop_api-documents", "shop_data", "shop_plain"}
	for name, tt := range map[string]struct {
		volumes bool
		failed  *backend.Existing // a deployment before which this was there; nil: it is undeployed
		want    []string
	}{
		"undeployed":                         {want: documents},
		"undeployed with volumes":            {volumes: true, want: all},
		"a deployment that failed":           {failed: &backend.Existing{}, want: all},
		"a deployment over volumes failed":   {failed: &backend.Existing{Data: true}, want: documents},
		"a deployment over documents failed": {failed: &backend.Existing{Documents: true}, want: all[1:]},
		"one over both failed":               {failed: &backend.Existing{Data: true, Documents: true}},
		"another version did not come up":    {failed: &backend.Existing{Running: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			docker, removed := volumeEngine(t)
			r := &fakeBackend{}
			d, _ := managed(t, r, nil)
			d.opts.Volumes = tt.volumes
			on := &engine.Engine{Application: d.Application, Docker: docker}
			r.removeVolumes, r.removeDocuments = on.RemoveVolumes, on.RemoveDocuments
			if tt.failed == nil {
				if err := d.down(t.Context()); err != nil || r.downs != 1 {
					t.Errorf("taken down %d times: %v", r.downs, err)
				}
			} else if err := d.failedAfter(t.Context(), io.ErrUnexpectedEOF, *tt.failed); !strings.HasPrefix(err.Error(), `cannot deploy "shop": unexpected EOF`) {
				t.Error(err)
			}
			got := removed()
			slices.Sort(got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("removed %q, want %q", got, tt.want)
			}
		})
	}
}
