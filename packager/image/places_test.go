package image_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	dockerimage "github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/image"
	"github.com/toskose/toskose/packager/internal/engine"
)

// through puts a handler in front of the bench's engine.
func (b *bench) through(around func(engine http.Handler) http.Handler) {
	b.t.Helper()
	network, address, ok := strings.Cut(b.DaemonHost(), "://")
	if !ok || network != "unix" && network != "tcp" {
		b.t.Skipf("the engine is at %s", b.DaemonHost())
	}
	proxy := &httputil.ReverseProxy{
		Director: func(r *http.Request) { r.URL.Scheme, r.URL.Host = "http", "engine" },
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		}},
		FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
	}
	server := httptest.NewServer(around(proxy))
	b.t.Cleanup(server.Close)
	cli, err := client.NewClientWithOpts(client.WithHost("tcp://"+server.Listener.Addr().String()), client.WithAPIVersionNegotiation())
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { cli.Close() })
	b.Client = cli
}

// at passes requests for a path to another handler.
func at(path string, special func(w http.ResponseWriter, r *http.Request, engine http.Handler)) func(http.Handler) http.Handler {
	return func(engine http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, path) {
				special(w, r, engine)
				return
			}
			engine.ServeHTTP(w, r)
		})
	}
}

// counted counts the bytes of a body.
type countedBody struct {
	io.ReadCloser
	n *atomic.Int64
}

func (c countedBody) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// large is a file that no compression makes small, and its size.
func large() (string, int64) {
	data, seed := make([]byte, 4<<20), uint32(1)
	for i := range data {
		seed = seed*1664525 + 1013904223
		data[i] = byte(seed >> 24)
	}
	return string(data), int64(len(data))
}

func TestAnEngineThatHasTheBaseIsSentOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	text, size := large()
	engine.Import(t, b.Client, b.name+":large", map[string]string{"etc/passwd": "", "large": text})
	var sent atomic.Int64
	var loads atomic.Int32
	refuse := false
	b.through(at("/images/load", func(w http.ResponseWriter, r *http.Request, engine http.Handler) {
		r.Body = countedBody{r.Body, &sent}
		if loads.Add(1); refuse && loads.Load() == 1 {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, `{"error":"this engine wants the layers of the base"}`)
			return
		}
		engine.ServeHTTP(w, r)
	}))
	plan := b.plan()
	plan.Images[0].Base = b.name + ":large"
	if err := b.build(plan, script, nil); err != nil {
		t.Fatal(err)
	}
	if sent.Load() == 0 || sent.Load() >= size/10 {
		t.Errorf("%d bytes were sent, of a base with %d", sent.Load(), size)
	}
	if engine.Files(t, b.Client, b.name+":api")["large"] == nil {
		t.Error("the image lacks its base")
	}

	refuse = true
	loads.Store(0)
	sent.Store(0)
	plan.Images[0].Env["MORE"] = "yes"
	if err := b.build(plan, script, nil); err != nil {
		t.Fatal(err)
	}
	if loads.Load() != 2 || sent.Load() < size {
		t.Errorf("an engine that refuses that was sent %d bytes in %d loads", sent.Load(), loads.Load())
	}
}

func TestABaseOfTheEngineGoesToALayoutAndARegistry(t *testing.T) {
	t.Parallel()
	b, w := newBench(t), newWorld(t, nil)
	if err := b.build(b.plan(), script, nil); err != nil {
		t.Fatal(err)
	}
	loaded, err := b.ImageInspect(t.Context(), b.name+":api")
	if err != nil {
		t.Fatal(err)
	}
	own, user := b.made.Pinned(b.name + ":api")
	tag := strings.TrimPrefix(own, b.name+":api-")
	if user != loaded.Config.User || len(tag) != 12 {
		t.Errorf("of the engine's image it tells %q, %q", own, user)
	}
	if found, err := b.ImageInspect(t.Context(), own); err != nil || found.ID != loaded.ID {
		t.Errorf("by a name of its own it is %q, %v", found.ID, err)
	}
	dir := filepath.Join(t.TempDir(), "layout")
	if err := b.build(b.plan(), script, func(o *image.Options) { o.Bases, o.Output = image.Engine, image.Layout(dir) }); err != nil {
		t.Fatal(err)
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	img, err := index.Image(layoutOf(t, dir)[b.name+":api"].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if id, err := img.ConfigName(); err != nil || id.String() != loaded.ID {
		t.Errorf("in the layout it is %s, in the engine %s, %v", id, loaded.ID, err)
	}
	plan := b.plan()
	plan.Images[0].Name = w.host + "/team/api:1"
	if err := b.build(plan, script, func(o *image.Options) { o.Bases, o.Output = image.Engine, image.Registry }); err != nil {
		t.Fatal(err)
	}
	pushed := w.get("team/api", "amd64")
	if err := validate.Image(pushed); err != nil {
		t.Error(err)
	}
	if id, err := pushed.ConfigName(); err != nil || id.String() != loaded.ID {
		t.Errorf("in the registry it is %s, in the engine %s, %v", id, loaded.ID, err)
	}
	if got, who := b.made.Pinned(plan.Images[0].Name); got != plan.Images[0].Name+"-"+tag || who != user {
		t.Errorf("of the registry's image it tells %q, %q, and of the engine's %q, %q", got, who, own, user)
	}
}

func TestABaseOfARegistryGoesToTheEngine(t *testing.T) {
	t.Parallel()
	b, w := newBench(t), newWorld(t, nil)
	plan := b.plan()
	plan.Images[0].Base = w.host + "/base:1"
	if err := b.build(plan, script, func(o *image.Options) { o.Bases = image.Registry }); err != nil {
		t.Fatal(err)
	}
	if engine.Files(t, b.Client, b.name+":api")["arch"] == nil {
		t.Error("the image lacks its base")
	}
}

func TestTheEnginePullsAsItIsTold(t *testing.T) {
	t.Parallel()
	b, w := newBench(t), newWorld(t, locked("team", "secret-word"))
	base := w.host + "/team/base:1"
	engine.Remove(t, b.Client, base)
	plan := b.plan()
	plan.Images[0].Base = base
	build := func(pull string) error {
		t.Helper()
		err := b.build(plan, script, func(o *image.Options) { o.Pull = pull })
		if found, inspectErr := b.ImageInspect(t.Context(), base); inspectErr == nil {
			engine.Remove(t, b.Client, found.ID) // which keeps its digest when a newer one gets the name
		}
		return err
	}
	if err := build(image.PullNever); err == nil || !strings.Contains(err.Error(), "the engine has none") || strings.Contains(b.said.String(), "pulling") {
		t.Errorf("never: %v, said %s", err, &b.said)
	}
	if err := build(image.PullMissing); err == nil || !strings.Contains(err.Error(), "the pull failed") {
		t.Errorf("without a password: %v", err)
	}
	w.pushAs("team", "secret-word", "team/base", w.base("amd64"))
	plan.Images[0].RegistryPassword, plan.Images[0].Name = "secret-word", w.host+"/team/api:1"
	engine.Remove(t, b.Client, plan.Images[0].Name)
	if err := build(image.PullMissing); err != nil {
		t.Fatal(err)
	}
	newer, err := mutate.Config(w.base("amd64"), v1.Config{User: "0", Env: []string{"NEW=yes"}})
	if err != nil {
		t.Fatal(err)
	}
	w.pushAs("team", "secret-word", "team/base", newer)
	for pull, want := range map[string]bool{image.PullMissing: false, image.PullAlways: true} {
		if err := build(pull); err != nil {
			t.Fatal(err)
		}
		found, err := b.ImageInspect(t.Context(), plan.Images[0].Name)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(found.Config.Env, " "), "NEW=yes"); got != want && pull == image.PullAlways {
			t.Errorf("--pull %s: the newer base is used: %t", pull, got)
		}
	}
}

// pushAs puts an image into a registry that wants a password.
func (w *world) pushAs(user, password, repository string, img v1.Image) {
	w.t.Helper()
	if err := remote.Write(w.ref(repository), img, remote.WithAuth(basic(user, password))); err != nil {
		w.t.Fatal(err)
	}
}

func TestTheEnginePushesWithThePassword(t *testing.T) {
	t.Parallel()
	b, w := newBench(t), newWorld(t, locked("team", "secret-word"))
	plan := b.plan()
	plan.Images[0].Name = w.host + "/team/api:1"
	engine.Remove(t, b.Client, plan.Images[0].Name)
	push := func(o *image.Options) { o.Push = true }
	err := b.build(plan, script, push)
	for _, want := range []string{`cannot push image "` + w.host + `/team/api:1-`, "docker.name in toskose.yml"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("without a password: %v lacks %q", err, want)
		}
	}
	if strings.Contains(b.said.String(), "trying again") {
		t.Errorf("what was refused is tried again: %s", &b.said)
	}
	plan.Images[0].RegistryPassword = "secret-word"
	if err := b.build(plan, script, push); err != nil {
		t.Fatal(err)
	}
	img, err := remote.Image(w.ref("team/api"), remote.WithAuth(basic("team", "secret-word")))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(img); err != nil {
		t.Error(err)
	}
	if own, err := remote.Head(b.own(plan.Images[0].Name), remote.WithAuth(basic("team", "secret-word"))); err != nil || own.Digest.String() != digestOf(t, img) {
		t.Errorf("by the name of its own the registry has %+v, %v", own, err)
	}
	if strings.Contains(b.said.String(), "secret-word") {
		t.Errorf("the password is said: %s", &b.said)
	}
}

func TestAnotherArchitectureThanTheEngines(t *testing.T) {
	t.Parallel()
	b, w := newBench(t), newWorld(t, nil)
	version, err := b.ServerVersion(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	other := map[string]string{"amd64": "arm64", "arm64": "amd64"}[version.Arch]
	plan := b.whole()
	plan.Images[0].Base = w.host + "/base:1"
	engine.Remove(t, b.Client, plan.Images[0].Base)
	err = b.build(plan, script, func(o *image.Options) { o.Platforms, o.Binaries = []string{"linux/" + other}, []string{w.binaries} })
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{b.name + ":api", b.name + ":manager"} {
		found, err := b.ImageInspect(t.Context(), ref)
		if err != nil || found.Architecture != other {
			t.Errorf("%s is for %q, %v", ref, found.Architecture, err)
		}
	}
}

// left returns the containers and images of the bench that a build has left.
func (b *bench) left() (left []string) {
	b.t.Helper()
	containers, err := b.ContainerList(b.t.Context(), container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("ancestor", b.name+":imported"))})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, c := range containers {
		left = append(left, "container "+c.ID)
	}
	wanted := []filters.Args{filters.NewArgs(filters.Arg("reference", b.name+":api"))}
	for _, label := range []string{packager.LabelApp, packager.LabelVersion} {
		wanted = append(wanted, filters.NewArgs(filters.Arg("dangling", "true"), filters.Arg("label", label+"="+b.name)))
	}
	for _, filter := range wanted {
		images, err := b.ImageList(b.t.Context(), dockerimage.ListOptions{Filters: filter})
		if err != nil {
			b.t.Fatal(err)
		}
		for _, i := range images {
			left = append(left, fmt.Sprintf("image %s %q", i.ID, i.RepoTags))
		}
	}
	all, err := b.ImageList(b.t.Context(), dockerimage.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", labelBench+"="+b.name))})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, i := range all {
		for _, name := range i.RepoTags {
			if name == b.name+":alone" || name == b.name+":api-base" {
				left = append(left, "image "+name)
			}
		}
		if len(i.RepoTags) == 0 || i.RepoTags[0] == "<none>:<none>" {
			left = append(left, "the image of a build step, "+i.ID)
		}
	}
	return left
}

// checkLeft waits until nothing is left: an engine that stops to build removes
// its containers after it has hung up.
func (b *bench) checkLeft() {
	b.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		left := b.left()
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("left: %q", left)
		}
	}
}

func TestAnEngineThatGoesAwayLeavesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.through(at("/images/load", func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.CopyN(io.Discard, r.Body, 1000)
		panic(http.ErrAbortHandler)
	}))
	err := b.build(b.plan(), script, nil)
	if err == nil || !strings.Contains(err.Error(), `image "toskose-unit:`+b.name+`"`) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
	b.checkLeft()
}

// TestABuildThatFailsRemovesWhatItHasReplaced: one image is replaced, and the next one is not loaded.
func TestABuildThatFailsRemovesWhatItHasReplaced(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	plan := b.plan()
	other := plan.Images[0]
	other.Name, other.Node, other.Env = b.name+":other", "other", map[string]string{"OTHER": "yes"}
	engine.Remove(t, b.Client, other.Name)
	plan.Images = append(plan.Images, other)
	if err := b.build(plan, script, nil); err != nil {
		t.Fatal(err)
	}
	before := b.id(":api")
	own, _ := b.made.Pinned(b.name + ":api")
	if _, err := b.ImageRemove(t.Context(), own, dockerimage.RemoveOptions{}); err != nil { // the old image has the name only
		t.Fatal(err)
	}
	for i := range plan.Images {
		plan.Images[i].Env = map[string]string{"CHANGED": fmt.Sprint(i)}
	}
	var loads atomic.Int32
	b.through(at("/images/load", func(w http.ResponseWriter, r *http.Request, engine http.Handler) {
		if loads.Add(1) > 1 {
			panic(http.ErrAbortHandler)
		}
		engine.ServeHTTP(w, r)
	}))
	if err := b.build(plan, script, nil); err == nil {
		t.Fatal("a build whose second image is not loaded succeeds")
	}
	if b.id(":api") == before {
		t.Fatal("the first image was not replaced")
	}
	if _, err := b.ImageInspect(t.Context(), before); err == nil {
		t.Errorf("the replaced image %s stays", before)
	}
}

// stopping interrupts when the engine answers with a text.
type stoppingWriter struct {
	http.ResponseWriter
	stop func()
	at   string
}

func (s stoppingWriter) Write(p []byte) (int, error) {
	if strings.Contains(string(p), s.at) {
		s.stop()
	}
	return s.ResponseWriter.Write(p)
}

// half interrupts in the middle of what is sent.
type half struct {
	io.ReadCloser
	stop func()
}

func (h half) Read(p []byte) (int, error) {
	n, err := h.ReadCloser.Read(p[:min(len(p), 100)])
	if n > 0 {
		h.stop()
	}
	return n, err
}

func (s stoppingWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// When an interruption comes.
const (
	sending   = "in the middle of what is sent"
	sent      = "when all is sent, which the engine takes in whether or not somebody waits"
	answering = "when the answer begins"
	stepping  = "after a step of a build"
	built     = "when an image is built, while another one is not"
)

// interrupted passes the engine a request in which the interruption comes.
func interrupted(when string, stop func(), w http.ResponseWriter, r *http.Request, engine http.Handler) {
	switch when {
	case sending:
		r.Body = half{r.Body, stop}
		engine.ServeHTTP(w, r)
	case answering:
		engine.ServeHTTP(stoppingWriter{w, stop, ""}, r)
	case stepping:
		engine.ServeHTTP(stoppingWriter{w, stop, "Step 3/"}, r)
	case built:
		engine.ServeHTTP(stoppingWriter{w, stop, "Successfully built"}, r)
	case sent:
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		stop()
		ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context())) // one without an end, and the proxy ends with its client
		defer cancel()
		whole := r.Clone(ctx)
		whole.Body, whole.ContentLength, whole.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
		engine.ServeHTTP(w, whole)
	}
}

func TestAnInterruptionLeavesNothing(t *testing.T) {
	t.Parallel()
	const load = "/images/load"
	tests := map[string]struct {
		path, when string
		again      bool // the engine has what is Toskose's own from before, so that what is loaded is the application's
	}{
		"while a user is looked up":    {"/archive", answering, false},
		"while a context is sent":      {"/build", sending, false},
		"while the engine builds":      {"/build", answering, false},
		"after a step of a build":      {"/build", stepping, false},
		"after a build":                {"/build", built, false},
		"while the unit image is sent": {load, sending, false},
		"when the unit image is sent":  {load, sent, false},
		"while an image is sent":       {load, sending, true},
		"when an image is sent":        {load, sent, true},
		"when an image is loaded":      {load, answering, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if test.again {
				if err := b.build(b.plan(), script, nil); err != nil {
					t.Fatal(err)
				}
				own, _ := b.made.Pinned(b.name + ":api")
				for _, ref := range []string{b.name + ":api", own} {
					if _, err := b.ImageRemove(t.Context(), ref, dockerimage.RemoveOptions{PruneChildren: true}); err != nil {
						t.Fatal(err)
					}
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var asked sync.WaitGroup
			b.through(at(test.path, func(w http.ResponseWriter, r *http.Request, engine http.Handler) {
				asked.Add(1)
				defer asked.Done()
				interrupted(test.when, cancel, w, r, engine)
			}))
			temp := t.TempDir()
			plan, archive := b.plan(), script
			if test.path == "/build" {
				plan, archive = b.given()
			}
			opts := image.Options{Version: b.name, Binaries: []string{b.binaries}, Temp: temp}
			if err := build(ctx, b.Client, opts, plan, archive); !errors.Is(err, context.Canceled) || ctx.Err() == nil {
				t.Errorf("%v", err)
			}
			asked.Wait() // for the engine, which may do more than somebody waits for
			b.checkLeft()
			if left, err := filepath.Glob(filepath.Join(temp, "*")); err != nil || len(left) > 0 {
				t.Errorf("temporary files: %v, %v", left, err)
			}
		})
	}
}
