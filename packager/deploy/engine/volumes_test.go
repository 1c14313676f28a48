package engine

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/deploy/backend"
	testengine "github.com/toskose/toskose/packager/internal/engine"
	"github.com/toskose/toskose/packager/output"
)

// onShop is the application "shop" on an engine that answers by a function.
func onShop(t *testing.T, answer http.HandlerFunc) (*Engine, *bytes.Buffer) {
	t.Helper()
	var said bytes.Buffer
	app := &backend.Application{Progress: &said, Info: output.Info{App: "shop"}}
	return &Engine{Application: app, Docker: testengine.Fake(t, answer)}, &said
}

func TestAVolumeThatIsAboutToBeLetGoOfIsRemoved(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	e, said := onShop(t, func(w http.ResponseWriter, r *http.Request) {
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
	if err := e.RemoveVolumes(t.Context()); err != nil || asked.Load() != 3 {
		t.Errorf("asked %d times: %v", asked.Load(), err)
	}
	if said.String() != "shop: removed volume data\n" {
		t.Errorf("it says %q", said)
	}
}

func TestExternalVolumesStayAndMustExist(t *testing.T) {
	t.Parallel()
	var removed []string
	e, _ := onShop(t, func(w http.ResponseWriter, r *http.Request) {
		name := path.Base(r.URL.Path)
		switch {
		case r.Method == http.MethodGet && strings.Contains(r.URL.RawQuery, "compose"):
			_, _ = io.WriteString(w, `{"Volumes": [{"Name": "shop_old"}, {"Name": "shop_old.toskose-restore"}, {"Name": "adopted"}, {"Name": "shop_data"}]}`)
		case r.Method == http.MethodGet && name == "volumes":
			_, _ = io.WriteString(w, `{"Volumes": []}`)
		case name == "missing":
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"message": "no such volume"}`)
		case r.Method == http.MethodGet:
			_, _ = io.WriteString(w, `{}`)
		default:
			removed = append(removed, name)
			w.WriteHeader(http.StatusNoContent)
		}
	})
	e.Info.ExternalVolumes = map[string]string{"data": "adopted", "more": "missing"}
	e.RecordExternalVolumes(map[string]string{"io.toskose.external-volumes": `{"old": "shop_old"}`})
	want := "volume \"more\" is external, and the engine has no volume \"missing\": `docker volume create missing` creates it, or name another by volumes.more.name in toskose.yml"
	if err := e.CheckExternalVolumes(t.Context()); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if err := e.RemoveVolumes(t.Context()); err != nil || !slices.Equal(removed, []string{"shop_data"}) {
		t.Errorf("removed %q: %v", removed, err)
	}
}

func TestVolumesThatImagesAskForGoWithTheOthers(t *testing.T) {
	t.Parallel()
	id, gone := strings.Repeat("0a", 32), strings.Repeat("1b", 32)
	var removed []string
	e, said := onShop(t, func(w http.ResponseWriter, r *http.Request) {
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
	list, err := e.Containers(t.Context(), compose.LabelProject+"=shop")
	if err != nil {
		t.Fatal(err)
	}
	e.RecordUnnamedVolumes(list)
	if err := e.RemoveVolumes(t.Context()); err != nil || !slices.Equal(removed, []string{id}) {
		t.Errorf("removed %q: %v", removed, err)
	}
	if said.String() != "shop: removed the volume of store at /data\n" {
		t.Errorf("it says %q", said)
	}
}

func TestAnEngineSaysWhatWasThereBefore(t *testing.T) {
	t.Parallel()
	e, _ := onShop(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/containers/json") {
			_, _ = io.WriteString(w, `[]`)
			return
		}
		_, _ = io.WriteString(w, `{"Volumes": [{"Name": "shop_api-documents", "Labels": {"io.toskose.documents": "api"}}]}`)
	})
	if before, err := e.Existing(t.Context(), compose.LabelProject+"=shop"); err != nil || before != (backend.Existing{Documents: true}) {
		t.Errorf("%+v, %v", before, err)
	}
}
