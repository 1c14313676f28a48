package image_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/toskose/toskose/packager/image"
	"github.com/toskose/toskose/packager/image/source"
	"github.com/toskose/toskose/packager/internal/engine"
)

// supervised is an image whose supervisord is a link.
func (w *world) supervised() v1.Image {
	w.t.Helper()
	img, err := mutate.AppendLayers(w.base("amd64"), layerOf(w.t, map[string]string{"opt/venv/bin/supervisord": "#!python"}))
	if err == nil {
		img, err = mutate.Config(img, v1.Config{
			Entrypoint: []string{"/start"}, Cmd: []string{"it"}, Env: []string{"PATH=/opt/venv/bin"}, WorkingDir: "/work", User: "app",
			ExposedPorts: map[string]struct{}{"8080/tcp": {}, "53/udp": {}, "80": {}},
		})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return img
}

func TestAnImageIsInspectedInItsRegistryAndInALayout(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	img := w.supervised()
	w.push("web", img)
	dir := filepath.Join(t.TempDir(), "images")
	path, err := layout.Write(dir, empty.Index)
	if err == nil {
		err = path.AppendImage(img, layout.WithAnnotations(map[string]string{source.AnnotationRef: "web:latest"}))
	}
	if err != nil {
		t.Fatal(err)
	}
	for ref, place := range map[string]image.Place{w.ref("web").String(): image.Registry, "web": image.Layout(dir)} {
		i := &image.Inspector{Place: place}
		called := false
		err := i.Inspect(t.Context(), ref, "amd64", func(c *image.Contents) error {
			called = true
			if c.Architecture != "amd64" || c.User != "app" || c.Folder != "/work" || !slices.Equal(c.Ports, []int{80, 8080}) ||
				!slices.Equal(c.Entrypoint, []string{"/start"}) || !slices.Equal(c.Command, []string{"it"}) {
				t.Errorf("%s: %+v", place, c)
			}
			file, err := c.Files.Stat(t.Context(), "/opt/venv/bin/supervisord")
			if err != nil || !file.Mode.IsRegular() || file.Size != 8 {
				t.Errorf("%s: supervisord is %+v, %v", place, file, err)
			}
			return nil
		})
		if err != nil || !called {
			t.Errorf("%s: %v", place, err)
		}
		if err := i.Inspect(t.Context(), w.host+"/other", "amd64", nil); err == nil || !strings.Contains(err.Error(), `cannot get image "`+w.host+`/other"`) {
			t.Errorf("%s: of an image that is not there: %v", place, err)
		}
	}
}

func TestAnImageIsInspectedOnTheEngine(t *testing.T) {
	b := newBench(t)
	ref := b.name + ":inspected"
	engine.Import(t, b.Client, ref, map[string]string{
		"etc/passwd": "app:x:1:1::/:\n", "etc/group": "", "bin": "-> usr/bin", "usr/bin/real": "#!", "usr/bin/supervisord": "-> ../../opt/supervisord",
		"opt/supervisord": "-> /bin/real",
	}, "USER app", "WORKDIR /work", "EXPOSE 80", `CMD ["/start"]`)
	i := &image.Inspector{Engine: b.Client}
	if got := i.OnEngine(t.Context(), b.name+":nothing", ref); got != ref {
		t.Errorf("the engine has %q", got)
	}
	err := i.Inspect(t.Context(), ref, "other", func(c *image.Contents) error {
		if c.User != "app" || c.Folder != "/work" || !slices.Equal(c.Ports, []int{80}) {
			t.Errorf("%+v", c)
		}
		if data, err := c.Files.Read(t.Context(), "/etc/passwd", 3); string(data) != "app" || err != nil {
			t.Errorf("passwd has %q, %v", data, err)
		}
		for _, name := range []string{"/bin/real", "/bin/supervisord", "/opt/supervisord"} {
			if file, err := c.Files.Stat(t.Context(), name); file.Path != "/usr/bin/real" || !file.Mode.IsRegular() || err != nil {
				t.Errorf("%s is %+v, %v", name, file, err)
			}
		}
		if _, err := c.Files.Stat(t.Context(), "/etc/nothing"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a missing file: %v", err)
		}
		if _, err := c.Files.Read(t.Context(), "/etc", 3); err == nil {
			t.Error("a folder was read")
		}
		names, err := c.Files.List(t.Context(), "/etc")
		if !slices.Contains(names, "passwd") || !slices.IsSorted(names) || err != nil {
			t.Errorf("etc has %q, %v", names, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	missing := "localhost:1/" + b.name + ":nothing"
	if err := i.Inspect(t.Context(), missing, "amd64", nil); err == nil || !strings.Contains(err.Error(), "the engine has no image") {
		t.Errorf("a missing image: %v", err)
	}
}
