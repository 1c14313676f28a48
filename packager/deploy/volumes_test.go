package deploy

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/docker/docker/client"

	"github.com/toskose/toskose/packager/output"
)

// engineOf returns a client of an engine that answers by a function.
func engineOf(t *testing.T, answer http.HandlerFunc) *client.Client {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	engine, err := client.NewClientWithOpts(client.WithHost("tcp://"+server.Listener.Addr().String()), client.WithVersion("1.41"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	return engine
}

// onShop is the deployment of the application "shop" on an engine.
func onShop(engine *client.Client) (*deployer, *bytes.Buffer) {
	var said bytes.Buffer
	return &deployer{engine: engine, opts: Options{Progress: &said}, info: output.Info{App: "shop"}}, &said
}

func TestAVolumeThatIsAboutToBeLetGoOfIsRemoved(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	engine := engineOf(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet && strings.Contains(r.URL.RawQuery, "compose"):
			_, _ = io.WriteString(w, `{"Volumes": []}`)
		case r.Method == http.MethodGet:
			_, _ = io.WriteString(w, `{"Volumes": [{"Name": "shop_data"}]}`)
		case asked.Add(1) <= 2:
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, `{"message": "remove shop_data: volume is in use"}`)
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	})
	d, said := onShop(engine)
	if err := d.removeVolumes(t.Context()); err != nil || asked.Load() != 3 {
		t.Errorf("asked %d times: %v", asked.Load(), err)
	}
	if said.String() != "shop: removed volume data\n" {
		t.Errorf("it says %q", said)
	}
}

func TestVolumesThatImagesAskForGoWithTheOthers(t *testing.T) {
	t.Parallel()
	id, gone := strings.Repeat("0a", 32), strings.Repeat("1b", 32)
	var removed []string
	engine := engineOf(t, func(w http.ResponseWriter, r *http.Request) {
		name := path.Base(r.URL.Path)
		switch {
		case strings.HasSuffix(r.URL.Path, "/containers/json"):
			fmt.Fprintf(w, `[{"Labels": {"com.docker.compose.service": "store"}, "Mounts": [
				{"Type": "volume", "Name": %q, "Destination": "/data"}, {"Type": "volume", "Name": %q, "Destination": "/log"},
				{"Type": "volume", "Name": "theirs", "Destination": "/theirs"}, {"Type": "bind", "Source": "/srv", "Destination": "/srv"}]}]`, id, gone)
		case r.Method == http.MethodGet:
			_, _ = io.WriteString(w, `{"Volumes": []}`)
		case name == gone:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"message": "no such volume"}`)
		default:
			removed = append(removed, name)
			w.WriteHeader(http.StatusNoContent)
		}
	})
	d, said := onShop(engine)
	list, err := d.containers(t.Context(), projectLabel+"=shop")
	if err != nil {
		t.Fatal(err)
	}
	d.unnamed = unnamedOf(list)
	if err := d.removeVolumes(t.Context()); err != nil || !slices.Equal(removed, []string{id}) {
		t.Errorf("removed %q: %v", removed, err)
	}
	if said.String() != "shop: removed the volume of store at /data\n" {
		t.Errorf("it says %q", said)
	}
}

// volumeEngine is an engine with a volume of the application "shop" and one for
// documents of a unit, which the engine still uses for a moment.
func volumeEngine(t *testing.T) (_ *client.Client, removed func() []string) {
	t.Helper()
	var mu sync.Mutex
	var gone []string
	asked := 0
	engine := engineOf(t, func(w http.ResponseWriter, r *http.Request) {
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
	return engine, func() []string {
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
		failed  *earlier // a deployment before which this was there; nil: it is undeployed
		want    []string
	}{
		"undeployed":                         {want: documents},
		"undeployed with volumes":            {volumes: true, want: all},
		"a deployment that failed":           {failed: &earlier{}, want: all},
		"a deployment over volumes failed":   {failed: &earlier{data: true}, want: documents},
		"a deployment over documents failed": {failed: &earlier{documents: true}, want: all[1:]},
		"one over both failed":               {failed: &earlier{data: true, documents: true}},
		"another version did not come up":    {failed: &earlier{running: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine, removed := volumeEngine(t)
			r := &fakeRunner{}
			d, _ := managed(t, r, nil)
			d.engine, d.opts.Volumes = engine, tt.volumes
			d.where.removeVolumes, d.where.removeDocuments = d.removeVolumes, d.removeDocuments
			if tt.failed == nil {
				if err := d.down(t.Context()); err != nil || r.downs != 1 {
					t.Errorf("taken down %d times: %v", r.downs, err)
				}
			} else if err := d.failed(t.Context(), io.ErrUnexpectedEOF, *tt.failed); !strings.HasPrefix(err.Error(), `cannot deploy "shop": unexpected EOF`) {
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

func TestAnEngineSaysWhatWasThereBefore(t *testing.T) {
	t.Parallel()
	engine := engineOf(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/containers/json") {
			_, _ = io.WriteString(w, `[]`)
			return
		}
		_, _ = io.WriteString(w, `{"Volumes": [{"Name": "shop_api-documents", "Labels": {"io.toskose.documents": "api"}}]}`)
	})
	d, _ := onShop(engine)
	if before, err := d.engineBefore(t.Context(), projectLabel+"=shop"); err != nil || before != (earlier{documents: true}) {
		t.Errorf("%+v, %v", before, err)
	}
}
