package volumes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
	"github.com/docker/docker/pkg/stdcopy"
	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
	testengine "github.com/toskose/toskose/packager/internal/engine"
	"github.com/toskose/toskose/packager/volumes/tree"
)

// making is what a container is made with.
type making struct {
	container.Config
	HostConfig container.HostConfig
}

// fakeEngine runs what a container would by itself, on a folder.
type fakeEngine struct {
	t              *testing.T
	dir            string
	fails          string
	made           making
	started, ended chan struct{}
	code           int
	removed        bool
}

func (f *fakeEngine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch at := r.URL.Path; {
	case strings.HasSuffix(at, "/images/json"):
		_ = json.NewEncoder(w).Encode([]image.Summary{
			{ID: "old", Created: 1}, {ID: "manager", Created: 2}, {ID: "node", Created: 3, Labels: map[string]string{packager.LabelNode: "api"}},
		})
	case strings.HasSuffix(at, "/containers/create"):
		f.made, f.started, f.ended = making{}, make(chan struct{}), make(chan struct{})
		if err := json.NewDecoder(r.Body).Decode(&f.made); err != nil {
			f.t.Error(err)
		}
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"Id": "c1"}`)
	case strings.HasSuffix(at, "/attach"):
		f.attach(w)
	case strings.HasSuffix(at, "/start"):
		close(f.started)
		w.WriteHeader(http.StatusNoContent)
	case strings.HasSuffix(at, "/wait"):
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-f.ended
		fmt.Fprintf(w, `{"StatusCode": %d}`, f.code)
	case r.Method == http.MethodDelete:
		f.removed = true
		w.WriteHeader(http.StatusNoContent)
	default:
		f.t.Errorf("%s %s", r.Method, r.URL)
	}
}

func (f *fakeEngine) attach(w http.ResponseWriter) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		f.t.Error(err)
		return
	}
	defer conn.Close()
	fmt.Fprint(conn, "HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
	<-f.started
	defer close(f.ended)
	switch {
	case f.fails != "":
		fmt.Fprint(stdcopy.NewStdWriter(conn, stdcopy.Stderr), f.fails)
		f.code = 1
	case f.made.Cmd[1] == "tar":
		err = tree.WriteWithSummary(stdcopy.NewStdWriter(conn, stdcopy.Stdout), f.dir)
	case f.made.Cmd[1] == "untar":
		err = tree.Replace(buffered, f.dir, strings.TrimPrefix(f.made.Env[0], hasToken+"="), reporting(stdcopy.NewStdWriter(conn, stdcopy.Stdout)), func() error { return nil })
	}
	if err != nil {
		f.t.Error(err)
	}
}

func serve(t *testing.T, f *fakeEngine) Place {
	t.Helper()
	f.t = t
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	docker, err := client.NewClientWithOpts(client.WithHost("tcp://"+strings.TrimPrefix(server.URL, "http://")), client.WithVersion("1.41"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { docker.Close() })
	return OnEngine(docker, "shop", "")
}

func TestAContainerCopiesWithNoRightsButThoseThatItNeeds(t *testing.T) {
	t.Parallel()
	from, to := place(t, "-old"), place(t, "-new")
	f := &fakeEngine{dir: from.dir + "/data"}
	p := serve(t, f)
	var stream bytes.Buffer
	if err := p.Save(t.Context(), Volume{ID: "shop_data"}, &stream); err != nil {
		t.Fatal(err)
	}
	host, m := f.made.HostConfig, f.made.HostConfig.Mounts
	if !f.removed || f.made.Image != "manager" || host.NetworkMode != "none" || !host.ReadonlyRootfs || host.LogConfig.Type != "none" ||
		fmt.Sprint(host.CapDrop, host.CapAdd) != "[ALL] [CAP_DAC_READ_SEARCH]" || len(m) != 1 || m[0].Source != "shop_data" || !m[0].ReadOnly {
		t.Errorf("removed: %v, it had %+v", f.removed, f.made)
	}
	f.dir, f.removed = to.dir+"/data", false
	if err := p.Load(t.Context(), Volume{ID: "shop_data"}, "token", &stream, io.Discard); err != nil {
		t.Fatal(err)
	}
	if data := read(t, to, "data"); data != "data-old" || !f.removed || f.made.HostConfig.Mounts[0].ReadOnly {
		t.Errorf("it has %q; removed: %v", data, f.removed)
	}
}

func TestWhatItSaysWhenItFailsIsTheReason(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"toskose-manager: volume tar: no room":         "its container has ended with code 1: volume tar: no room",
		"usage: toskose-manager [--app FILE] [health]": "the application's manager is of an older toskose, which cannot copy volumes",
	} {
		f := &fakeEngine{fails: said}
		err := serve(t, f).Save(t.Context(), Volume{ID: "shop_data"}, &bytes.Buffer{})
		if err == nil || !strings.Contains(err.Error(), want) || !f.removed {
			t.Errorf("%v, want %s; removed: %v", err, want, f.removed)
		}
	}
}

func TestTheVolumesOfAnEngineIncludeExternalOnes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder := "x-toskose: {app: shop, manager: {port: 10000}, external_volumes: {fromfolder: theirs, gone: gone}}\n"
	if err := os.WriteFile(filepath.Join(dir, compose.SwarmFile), []byte(folder), 0o600); err != nil {
		t.Fatal(err)
	}
	docker := testengine.Fake(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/info"):
			fmt.Fprint(w, `{"Name": "here"}`)
		case strings.HasSuffix(r.URL.Path, "/containers/json"):
			label := `"io.toskose.app": "shop", "io.toskose.external-volumes": "{\"data\":\"adopted\",\"old\":\"shop_old\",\"forged\":\"secret\"}"`
			fmt.Fprintf(w, `[{"Id": "1", "Names": ["/shop-store-1"], "State": "running", "Labels": {%s, "io.toskose.node": "store"},
				"Mounts": [{"Type": "volume", "Name": "adopted"}, {"Type": "volume", "Name": "shop_old"}]},
				{"Id": "2", "Labels": {"io.toskose.app": "other", "io.toskose.external-volumes": "{\"x\":\"x\"}"}, "Mounts": [{"Type": "volume", "Name": "x"}]}]`, label)
		case strings.HasSuffix(r.URL.Path, "/volumes") && strings.Contains(r.URL.RawQuery, "compose"):
			fmt.Fprint(w, `{"Volumes": [{"Name": "shop_old", "Labels": {"com.docker.compose.project": "shop"}}]}`)
		case strings.HasSuffix(r.URL.Path, "/volumes"):
			fmt.Fprint(w, `{"Volumes": []}`)
		case strings.HasSuffix(r.URL.Path, "/gone"):
			w.WriteHeader(http.StatusNotFound)
		default:
			fmt.Fprint(w, `{}`)
		}
	})
	got, err := OnEngine(docker, "shop", dir).List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	users := []User{{Name: "shop-store-1", ID: "1", Node: "store", Running: true}}
	want := []Volume{
		{Name: "data", ID: "adopted", Machine: "here", Users: users},
		{Name: "fromfolder", ID: "theirs", Machine: "here", Users: []User{}},
		{Name: "old", ID: "shop_old", Machine: "here", Users: users},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
