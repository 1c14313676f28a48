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
	"sync/atomic"
	"testing"

	"github.com/docker/docker/client"

	"github.com/toskose/toskose/packager/output"
)

func TestAVolumeThatIsAboutToBeLetGoOfIsRemoved(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
	}))
	t.Cleanup(server.Close)
	engine, err := client.NewClientWithOpts(client.WithHost("tcp://"+server.Listener.Addr().String()), client.WithVersion("1.41"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	var said bytes.Buffer
	d := &deployer{engine: engine, opts: Options{Progress: &said}, info: output.Info{App: "shop"}}
	if err := d.removeVolumes(t.Context()); err != nil || asked.Load() != 3 {
		t.Errorf("asked %d times: %v", asked.Load(), err)
	}
	if said.String() != "shop: removed volume data\n" {
		t.Errorf("it says %q", &said)
	}
}

func TestVolumesThatImagesAskForGoWithTheOthers(t *testing.T) {
	t.Parallel()
	id, gone := strings.Repeat("0a", 32), strings.Repeat("1b", 32)
	var removed []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
	}))
	t.Cleanup(server.Close)
	engine, err := client.NewClientWithOpts(client.WithHost("tcp://"+server.Listener.Addr().String()), client.WithVersion("1.41"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	var said bytes.Buffer
	d := &deployer{engine: engine, opts: Options{Progress: &said}, info: output.Info{App: "shop"}}
	list, err := d.containers(t.Context(), projectLabel+"=shop")
	if err != nil {
		t.Fatal(err)
	}
	d.unnamed = unnamedOf(list)
	if err := d.removeVolumes(t.Context()); err != nil || !slices.Equal(removed, []string{id}) {
		t.Errorf("removed %q: %v", removed, err)
	}
	if said.String() != "shop: removed the volume of store at /data\n" {
		t.Errorf("it says %q", &said)
	}
}
