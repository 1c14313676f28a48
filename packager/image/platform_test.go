package image_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/docker/docker/client"

	"github.com/toskose/toskose/packager/image"
)

// fakeEngine is an engine for arm64 that has every image, and counts what it is asked.
type fakeEngine struct {
	version http.HandlerFunc // answers instead, if it wants

	mu    sync.Mutex
	asked map[string]int // by the end of the path
}

// ServeHTTP implements http.Handler.
func (e *fakeEngine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	end := filepath.Base(r.URL.Path)
	e.mu.Lock()
	e.asked[end]++
	e.mu.Unlock()
	switch end {
	case "_ping":
		w.Header().Set("Api-Version", "1.41")
	case "version":
		if e.version != nil {
			e.version(w, r)
			return
		}
		fmt.Fprint(w, `{"ApiVersion": "1.41", "Arch": "arm64", "Os": "linux"}`)
	case "json":
		fmt.Fprint(w, `{"Id": "sha256:1", "Os": "linux", "Architecture": "arm64", "Config": {}, "RootFS": {"Type": "layers"}}`)
	default:
		http.Error(w, "{}", http.StatusNotImplemented)
	}
}

// through serves an engine and returns a client of it.
func (e *fakeEngine) through(t *testing.T) *client.Client {
	t.Helper()
	e.asked = map[string]int{}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	cli, err := client.NewClientWithOpts(client.WithHost("tcp://"+server.Listener.Addr().String()), client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cli.Close() })
	return cli
}

func TestAnEngineIsAskedOnceWhatItIsForAndOnlyWhereThatIsNotSaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for name, test := range map[string]struct {
		platforms []string
		ask       bool
		versions  int
	}{
		"ahead":             {nil, true, 1},
		"when it is needed": {nil, false, 1},
		"never":             {[]string{"linux/arm64"}, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			engine := &fakeEngine{}
			dir := filepath.Join(t.TempDir(), "contexts")
			b, err := image.New(engine.through(t), image.Options{
				Version: "1", Binaries: []string{w.binaries}, Contexts: dir, Platforms: test.platforms, Temp: t.TempDir(), Progress: w,
			})
			if err != nil {
				t.Fatal(err)
			}
			if test.ask {
				defer b.Prefetch(t.Context())()
			}
			if err := b.Build(t.Context(), w.plan(), script); err != nil {
				t.Fatal(err)
			}
			engine.mu.Lock()
			defer engine.mu.Unlock()
			if got := engine.asked; got["version"] != test.versions || got["json"] != 1 || got["history"] != 0 {
				t.Errorf("it is asked %v", got)
			}
			layer, err := os.ReadFile(filepath.Join(dir, "api", "toskose.tar"))
			if err != nil || !strings.Contains(string(layer), "arm64") {
				t.Errorf("the unit is not the one for arm64, %v", err)
			}
		})
	}
}

func TestAQuestionThatIsNotAnsweredEndsWhenItIsStopped(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	engine := &fakeEngine{version: func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}}
	b, err := image.New(engine.through(t), image.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stop := b.Prefetch(context.WithoutCancel(t.Context()))
	<-asked
	stop()
}
