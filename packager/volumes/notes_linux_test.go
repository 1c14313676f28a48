package volumes

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/client"
	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
)

// leftEngine is an engine with what killed commands have left: it has volumes, and containers by
// their states, and notes what it was asked to change.
type leftEngine struct {
	t          *testing.T
	mu         sync.Mutex
	containers map[string]container.ContainerState
	volumes    map[string]map[string]string
	changed    []string
}

func (f *leftEngine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	parts := strings.Split(r.URL.Path, "/")
	last, before := parts[len(parts)-1], parts[len(parts)-2]
	switch {
	case r.Method == http.MethodGet && before == "containers":
		var list []container.Summary
		for id, state := range f.containers {
			list = append(list, container.Summary{ID: id, State: state, Labels: map[string]string{labelCopies: "shop_data", packager.LabelApp: "shop"}})
		}
		slices.SortFunc(list, func(a, b container.Summary) int { return strings.Compare(a.ID, b.ID) })
		_ = json.NewEncoder(w).Encode(list)
	case last == "wait":
		fmt.Fprint(w, `{"StatusCode": 0}`)
	case last == "start" && before == "gone":
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"message": "no such container"}`)
	case last == "start", last == "stop":
		f.changed = append(f.changed, last+" "+before)
		w.WriteHeader(http.StatusNoContent)
	case last == "volumes":
		wanted, err := filters.FromJSON(r.URL.Query().Get("filters"))
		if err != nil {
			f.t.Error(err)
		}
		var list volume.ListResponse
		for name, labels := range f.volumes {
			if slices.ContainsFunc(wanted.Get("label"), func(one string) bool { // as Podman does; Docker wants all of them
				key, value, has := strings.Cut(one, "=")
				have, is := labels[key]
				return is && (!has || have == value)
			}) {
				list.Volumes = append(list.Volumes, &volume.Volume{Name: name, Labels: labels})
			}
		}
		slices.SortFunc(list.Volumes, func(a, b *volume.Volume) int { return strings.Compare(a.Name, b.Name) })
		_ = json.NewEncoder(w).Encode(list)
	case last == "create" && before == "volumes":
		var made volume.CreateOptions
		_ = json.NewDecoder(r.Body).Decode(&made)
		f.volumes[made.Name] = made.Labels
		_ = json.NewEncoder(w).Encode(volume.Volume{Name: made.Name})
	case before == "volumes" && f.volumes[last] == nil:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"message": "no such volume"}`)
	case before == "volumes" && r.Method == http.MethodDelete:
		delete(f.volumes, last)
		w.WriteHeader(http.StatusNoContent)
	case before == "volumes":
		_ = json.NewEncoder(w).Encode(volume.Volume{Name: last, Labels: f.volumes[last]})
	case r.Method == http.MethodDelete:
		f.changed = append(f.changed, "remove "+last)
		w.WriteHeader(http.StatusNoContent)
	default:
		f.t.Errorf("%s %s", r.Method, r.URL)
	}
}

func serveLeft(t *testing.T, f *leftEngine) (engine, *client.Client) {
	t.Helper()
	f.t = t
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	docker, err := client.NewClientWithOpts(client.WithHost("tcp://"+strings.TrimPrefix(server.URL, "http://")), client.WithVersion("1.41"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { docker.Close() })
	return engine{docker, "shop", ""}, docker
}

// TestWhatAKilledCommandHasLeftIsUndone: containers beside volumes are removed, one that runs
// once it has ended, and a container that was stopped is started.
func TestWhatAKilledCommandHasLeftIsUndone(t *testing.T) {
	t.Parallel()
	f := &leftEngine{containers: map[string]container.ContainerState{"c1": container.StateExited, "c2": container.StateRunning}, volumes: map[string]map[string]string{
		"other.toskose-stopped-s9": {labelStopped: "s9", compose.LabelProject: "other"}, "shop_data": {compose.LabelProject: "shop"},
	}}
	e, docker := serveLeft(t, f)
	for _, id := range []string{"s1", "gone"} {
		if err := e.Stop(t.Context(), User{ID: id}); err != nil { // and then the command is killed
			t.Fatal(err)
		}
	}
	started, err := e.Tidy(t.Context())
	if err != nil || !slices.Equal(started, []string{"container s1"}) {
		t.Errorf("%q, %v", started, err)
	}
	if diff := cmp.Diff([]string{"stop s1", "stop gone", "remove c1", "remove c2", "start s1"}, f.changed); diff != "" {
		t.Error(diff)
	}
	if err := e.Stop(t.Context(), User{ID: "s2"}); err != nil {
		t.Fatal(err)
	}
	if err := RemoveLeft(t.Context(), docker, "shop"); err != nil {
		t.Error(err)
	}
	if len(f.volumes) != 2 || f.volumes["other.toskose-stopped-s9"] == nil || f.volumes["shop_data"] == nil {
		t.Errorf("there are %v", f.volumes)
	}
}

// TestANoteOfARestoreIsKeptBesideItsVolume, and is none of the application's volumes.
func TestANoteOfARestoreIsKeptBesideItsVolume(t *testing.T) {
	t.Parallel()
	f := &leftEngine{volumes: map[string]map[string]string{}}
	e, _ := serveLeft(t, f)
	v := Volume{Name: "data", ID: "shop_data"}
	for _, n := range []Note{{}, {Token: "t"}, {Token: "t", Restored: true}, {Token: "u"}, {}} {
		if err := e.SetNote(t.Context(), v, n); err != nil {
			t.Fatal(err)
		}
		got, err := e.Note(t.Context(), v)
		if err != nil || got != n {
			t.Errorf("%+v, want %+v (%v)", got, n, err)
		}
		for name, labels := range f.volumes {
			if labels[compose.LabelProject] != "shop" || !isNote(labels) {
				t.Errorf("%s has the labels %v", name, labels)
			}
		}
	}
	if len(f.volumes) > 0 {
		t.Errorf("there are %v", f.volumes)
	}
}
