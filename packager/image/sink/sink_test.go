package sink

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/toskose/toskose/internal/leak"
	"github.com/toskose/toskose/packager/image/docker"
	"github.com/toskose/toskose/packager/image/event"
	"github.com/toskose/toskose/packager/image/layer"
	"github.com/toskose/toskose/packager/image/source"
	"github.com/toskose/toskose/packager/internal/engine"
)

func TestMain(m *testing.M) { leak.Main(m, http.DefaultClient.CloseIdleConnections) }

// assembled returns an image on scratch with two layers: a binary for an architecture, and the application's files.
func assembled(t *testing.T, name, arch, application string) *Image {
	t.Helper()
	platform := v1.Platform{OS: "linux", Architecture: arch}
	base := source.Scratch(platform)
	temp := &layer.Temp{In: t.TempDir()}
	var layers []*layer.Layer
	for _, e := range []layer.Entry{layer.Data("bin/unit", 0o755, []byte("for "+arch)), layer.Data("app", 0o644, []byte(application))} {
		layers = append(layers, layer.New(t.Context(), temp, layer.NewTree([]layer.Entry{e}), true))
	}
	m, err := Assemble(name, platform, base, base.Config.DeepCopy(), layers)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// newLayout returns the sink of a folder.
func newLayout(t *testing.T, dir string) *Layout {
	t.Helper()
	s, err := NewLayout(dir, &event.Log{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// namesIn returns the names in a complete layout, each with its digest.
func namesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	index, err := layout.ImageIndexFromPath(dir)
	if err == nil {
		err = validate.Index(index)
	}
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, d := range manifest.Manifests {
		names[d.Annotations[source.AnnotationRef]] = d.Digest.String()
	}
	return names
}

func TestALayoutHasTheNewestImageOfEachName(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "deep", "layout")
	first := newLayout(t, dir)
	both := []*Image{assembled(t, "api:1", "amd64", "one"), assembled(t, "api:1", "arm64", "one")}
	if err := errors.Join(first.Put(t.Context(), "api:1", "api:1-a", both), first.Commit(t.Context())); err != nil {
		t.Fatal(err)
	}
	before := namesIn(t, dir)
	if before["api:1"] != before["api:1-a"] || len(before) != 2 {
		t.Fatalf("the layout has %v", before)
	}
	second := newLayout(t, dir)
	if err := errors.Join(second.Put(t.Context(), "api:1", "api:1-b", []*Image{assembled(t, "api:1", "amd64", "two")}), second.Commit(t.Context())); err != nil {
		t.Fatal(err)
	}
	after := namesIn(t, dir)
	if after["api:1-a"] != before["api:1-a"] || after["api:1"] != after["api:1-b"] || after["api:1"] == before["api:1"] || len(after) != 3 {
		t.Errorf("the layout has %v, and before %v", after, before)
	}
}

func TestAnAbortedLayoutIsAsBefore(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	s := newLayout(t, filepath.Join(parent, "a", "layout"))
	if err := s.Put(t.Context(), "api:1", "api:1-a", []*Image{assembled(t, "api:1", "amd64", "one")}); err != nil {
		t.Fatal(err)
	}
	s.Abort()
	if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
		t.Errorf("a new layout: left %v, %v", left, err)
	}

	dir := filepath.Join(parent, "layout")
	s = newLayout(t, dir)
	if err := errors.Join(s.Put(t.Context(), "api:1", "api:1-a", []*Image{assembled(t, "api:1", "amd64", "one")}), s.Commit(t.Context())); err != nil {
		t.Fatal(err)
	}
	s.Abort() // has no effect after Commit
	before := blobs(t, dir)
	s = newLayout(t, dir)
	if err := s.Put(t.Context(), "api:1", "api:1-b", []*Image{assembled(t, "api:1", "amd64", "two")}); err != nil {
		t.Fatal(err)
	}
	s.Abort()
	if diff := cmp.Diff(before, blobs(t, dir)); diff != "" || len(namesIn(t, dir)) != 2 {
		t.Errorf("an existing layout: %s", diff)
	}
}

func blobs(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "blobs", "sha256", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestAFolderWithOtherFilesIsNoLayout(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "precious"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewLayout(dir, nil); err == nil || !strings.Contains(err.Error(), "holds something other than an OCI image layout") {
		t.Errorf("error %v", err)
	}
}

// pushes is a registry that records the tags and digests that manifests are put by.
type pushes struct {
	host string
	sink *Registry

	mu     sync.Mutex
	put    []string
	status func(reference string) int // of the response; 0: the registry's own
}

func newRegistry(t *testing.T) *pushes {
	t.Helper()
	p := &pushes{}
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, reference, ok := strings.Cut(r.URL.Path, "/manifests/")
		if ok && r.Method == http.MethodPut {
			p.mu.Lock()
			p.put = append(p.put, reference)
			status := 0
			if p.status != nil {
				status = p.status(reference)
			}
			p.mu.Unlock()
			if status != 0 {
				w.WriteHeader(status)
				return
			}
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	p.host = strings.TrimPrefix(server.URL, "http://")
	backoff := remote.Backoff{Duration: time.Millisecond, Factor: 1, Steps: docker.MaxPushes}
	p.sink = &Registry{Registry: &source.Registry{Keychain: authn.NewMultiKeychain(), Backoff: backoff}, Log: &event.Log{}}
	return p
}

func TestANameIsPushedAfterThePinnedName(t *testing.T) {
	t.Parallel()
	p := newRegistry(t)
	name := p.host + "/team/api:1"
	images := []*Image{assembled(t, name, "amd64", "one"), assembled(t, name, "arm64", "one")}
	if err := p.sink.Put(t.Context(), name, name+"-a", images); err != nil {
		t.Fatal(err)
	}
	tags := slices.DeleteFunc(p.put, func(reference string) bool { return strings.HasPrefix(reference, "sha256:") })
	if !slices.Equal(tags, []string{"1-a", "1"}) {
		t.Errorf("tags are put in the order %q", tags)
	}
	ref, err := parseTag(name)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(ref)
	if err == nil {
		err = validate.Index(index)
	}
	if err != nil {
		t.Error(err)
	}
}

func TestAPushIsRetriedUnlessTheRegistryRefuses(t *testing.T) {
	t.Parallel()
	p := newRegistry(t)
	name := p.host + "/team/api:1"
	failures := 0
	p.status = func(string) int {
		if failures++; failures > 2 {
			return 0
		}
		return http.StatusServiceUnavailable
	}
	if err := p.sink.Put(t.Context(), name, name+"-a", []*Image{assembled(t, name, "amd64", "one")}); err != nil || failures < 3 {
		t.Errorf("%d manifests were put: %v", failures, err)
	}
	p.status = func(string) int { return http.StatusForbidden }
	err := p.sink.Put(t.Context(), name, name+"-b", []*Image{assembled(t, name, "amd64", "two")})
	for _, want := range []string{`cannot push image "` + name + `"`, "refuses", "docker login " + p.host, "docker.name in toskose.yml"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}

func TestTheSecondSinkGetsCompleteImagesOnly(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is full")
	first, second := &recorder{}, &recorder{}
	s := Both(first, second)
	if err := errors.Join(s.Put(t.Context(), "a", "", nil), s.Commit(t.Context())); err != nil {
		t.Fatal(err)
	}
	first.err = broken
	if err := s.Put(t.Context(), "b", "", nil); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	s.Abort()
	if diff := cmp.Diff([][]string{{"a", "commit", "b", "abort"}, {"a", "commit", "abort"}}, [][]string{first.calls, second.calls}); diff != "" {
		t.Error(diff)
	}
}

// recorder is a sink that records its calls.
type recorder struct {
	calls []string
	err   error // of Put
}

func (r *recorder) Put(_ context.Context, name, _ string, _ []*Image) error {
	r.calls = append(r.calls, name)
	return r.err
}

func (r *recorder) Commit(context.Context) error {
	r.calls = append(r.calls, "commit")
	return nil
}
func (r *recorder) Abort() { r.calls = append(r.calls, "abort") }

// loads is an engine that records the images and the layers that it is sent.
type loads struct {
	sink *Engine

	mu       sync.Mutex
	images   map[string]bool // IDs of its images
	sent     []string        // files of the last archive, sorted
	tags     []string
	demands  bool // it rejects archives without all layers
	rejected int
}

func newEngine(t *testing.T) *loads {
	t.Helper()
	l := &loads{images: map[string]bool{}}
	client := engine.Fake(t, func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		defer l.mu.Unlock()
		switch {
		case strings.HasSuffix(r.URL.Path, "/images/load"):
			l.load(t, w, r.Body)
		case strings.HasSuffix(r.URL.Path, "/tag"):
			l.tags = append(l.tags, strings.TrimPrefix(r.URL.Query().Get("repo"), "docker.io/library/")+":"+r.URL.Query().Get("tag"))
			w.WriteHeader(http.StatusCreated)
		default:
			id := strings.TrimSuffix(r.URL.Path[strings.Index(r.URL.Path, "/images/")+len("/images/"):], "/json")
			if !l.images[id] {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			_ = json.NewEncoder(w).Encode(map[string]string{"Id": id})
		}
	})
	l.sink = &Engine{Engine: &docker.Engine{Client: client, Log: &event.Log{}}}
	return l
}

func (l *loads) load(t *testing.T, w http.ResponseWriter, archive io.Reader) {
	l.sent = nil
	var config []byte
	var manifest []struct{ Layers []string }
	for tr := tar.NewReader(archive); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Error(err)
			return
		}
		data, err := io.ReadAll(tr)
		if err != nil {
			t.Error(err)
		}
		switch h.Name {
		case "config.json":
			config = data
		case "manifest.json":
			if err := json.Unmarshal(data, &manifest); err != nil {
				t.Error(err)
			}
		default:
			l.sent = append(l.sent, h.Name)
		}
	}
	if l.demands && len(l.sent) < len(manifest[0].Layers) {
		l.rejected++
		_, _ = io.WriteString(w, `{"error": "a layer is missing"}`)
		return
	}
	id, _, err := v1.SHA256(bytes.NewReader(config))
	if err != nil {
		t.Error(err)
	}
	l.images[id.String()] = true
	_, _ = io.WriteString(w, `{"stream": "Loaded image ID: `+id.String()+`"}`)
}

func TestAnEngineIsSentOnlyTheLayersThatItDoesNotHave(t *testing.T) {
	t.Parallel()
	l := newEngine(t)
	put := func(name, application string, want ...string) {
		t.Helper()
		l.sent, l.tags = nil, nil
		if err := l.sink.Put(t.Context(), name+":1", name+":1-a", []*Image{assembled(t, name+":1", "amd64", application)}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(l.sent, want) || !slices.Equal(l.tags, []string{name + ":1-a", name + ":1"}) {
			t.Errorf("%s: sent %q, want %q; tags %q", name, l.sent, want, l.tags)
		}
	}
	put("api", "one", "toskose.tar", "application.tar")
	put("same", "one")                     // the image exists
	put("gui", "two", "application.tar")   // has the binary's layer in common
	put("api", "three", "application.tar") // likewise
	l.demands = true
	put("cli", "four", "toskose.tar", "application.tar")
	if l.rejected != 1 {
		t.Errorf("an engine that demands all layers has rejected %d archives", l.rejected)
	}
}
