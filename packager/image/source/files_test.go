package source

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// layerOf returns a layer with files. A value that begins with "-> " is a symbolic link, "= " a hard
// link, and "/" a folder.
func layerOf(t *testing.T, files ...[2]string) v1.Layer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Name: f[0], Mode: 0o755, Typeflag: tar.TypeReg, Size: int64(len(f[1]))}
		data := f[1]
		if to, ok := strings.CutPrefix(f[1], "-> "); ok {
			h.Typeflag, h.Linkname, h.Size, data = tar.TypeSymlink, to, 0, ""
		} else if to, ok := strings.CutPrefix(f[1], "= "); ok {
			h.Typeflag, h.Linkname, h.Size, data = tar.TypeLink, to, 0, ""
		} else if f[1] == "/" {
			h.Typeflag, h.Size, data = tar.TypeDir, 0, ""
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestTheFilesOfLayersAreThoseThatAContainerSees(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", maxKept+1)
	image := &Image{Layers: func() ([]v1.Layer, error) {
		return []v1.Layer{
			layerOf(t, [2]string{"bin", "-> usr/bin"}, [2]string{"usr/bin/real", "first"}, [2]string{"usr/bin/gone", "x"},
				[2]string{"etc/conf.d/b.conf", "b"}, [2]string{"etc/conf.d/a.conf", "a"}, [2]string{"old/x", "x"}, [2]string{"opq/x", "x"},
				[2]string{"folder/x", "x"}, [2]string{"loop", "-> loop"}, [2]string{"large", large}),
			layerOf(t, [2]string{"usr/bin/.wh.gone", ""}, [2]string{".wh.old", ""}, [2]string{"opq/new", "y"}, [2]string{"opq/.wh..wh..opq", ""},
				[2]string{"opt/venv/bin/supervisord", "-> ../../../usr/bin/real"}, [2]string{"usr/local/bin/supervisord", "-> /opt/venv/bin/supervisord"},
				[2]string{"usr/bin/hard", "= usr/bin/real"}, [2]string{"folder", "a file now"}),
		}, nil
	}}
	err := image.WithFiles(t.Context(), func(files Files) error {
		for name, want := range map[string]string{
			"/usr/local/bin/supervisord": "/usr/bin/real", "/bin/real": "/usr/bin/real", "/bin/../bin/hard": "/usr/bin/hard", "/opq/new": "/opq/new",
			"/folder": "/folder", "/etc": "/etc",
			"/usr/bin/gone": "", "/old/x": "", "/old": "", "/opq/x": "", "/folder/x": "", "/nothing": "",
		} {
			got, err := files.Stat(t.Context(), name)
			if got.Path != want || (want == "") != errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s is %q, %v; want %q", name, got.Path, err, want)
			}
		}
		if _, err := files.Stat(t.Context(), "/loop"); !errors.Is(err, errTooManyLinks) {
			t.Errorf("a link to itself: %v", err)
		}
		for name, want := range map[string]string{"/usr/local/bin/supervisord": "fir", "/bin/hard": "fir", "/large": "xxx"} {
			if data, err := files.Read(t.Context(), name, 3); string(data) != want || err != nil {
				t.Errorf("%s contains %q, %v; want %q", name, data, err, want)
			}
		}
		if _, err := files.Read(t.Context(), "/etc", 3); err == nil {
			t.Error("a folder was read")
		}
		if names, err := files.List(t.Context(), "/etc/conf.d"); !slices.Equal(names, []string{"a.conf", "b.conf"}) || err != nil {
			t.Errorf("conf.d contains %q, %v", names, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
