package attach

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toskose/toskose/packager/image"
	"github.com/toskose/toskose/packager/image/source"
)

// fakeImage is an image with files by path.
type fakeImage struct {
	contents image.Contents
	files    fakeFiles
}

type fakeFiles map[string]string

// Stat implements source.Files.
func (f fakeFiles) Stat(_ context.Context, name string) (source.File, error) {
	name = path.Clean(name)
	if target, ok := strings.CutPrefix(f[name], "-> "); ok {
		name = target
	}
	text, ok := f[name]
	if !ok {
		return source.File{}, fs.ErrNotExist
	}
	return source.File{Path: name, Mode: 0o755, Size: int64(len(text))}, nil
}

// Read implements source.Files.
func (f fakeFiles) Read(_ context.Context, name string, limit int64) ([]byte, error) {
	return []byte(f[name])[:min(len(f[name]), int(limit))], nil
}

// List implements source.Files.
func (f fakeFiles) List(_ context.Context, name string) (names []string, err error) {
	for file := range f {
		if path.Dir(file) == name {
			names = append(names, path.Base(file))
		}
	}
	if names == nil {
		return nil, fs.ErrNotExist
	}
	slices.Sort(names)
	return names, nil
}

// fakeImages are images by name.
type fakeImages map[string]fakeImage

// Architecture implements Images.
func (fakeImages) Architecture(context.Context) (string, error) { return "amd64", nil }

// OnEngine implements Images.
func (f fakeImages) OnEngine(_ context.Context, refs ...string) string {
	for _, ref := range refs {
		if _, ok := f[ref]; ok {
			return ref
		}
	}
	return ""
}

// Inspect implements Images.
func (f fakeImages) Inspect(_ context.Context, ref, arch string, use func(*image.Contents) error) error {
	i, ok := f[ref]
	if !ok {
		return fmt.Errorf("cannot get image %q: there is none", ref)
	}
	c := i.contents
	c.Files = i.files
	if c.Architecture == "" {
		c.Architecture = arch
	}
	return use(&c)
}

// supervised is an image that runs supervisord, with more files.
func supervised(files fakeFiles, command ...string) fakeImage {
	all := fakeFiles{"/usr/bin/supervisord": "#!/usr/bin/python3\n"}
	for name, text := range files {
		all[name] = text
	}
	if command == nil {
		command = []string{"supervisord", "-n"}
	}
	return fakeImage{contents: image.Contents{Command: command}, files: all}
}

// endless is a source of credentials that repeats itself.
type endless struct{ n byte }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e.n
		e.n++
	}
	return len(p), nil
}

// loading is held while Compose files are loaded: compose-go keeps what it has warned of in a
// variable of its package.
var loading sync.Mutex

// bench is a folder with Compose files, and the options to attach with.
type bench struct {
	t    *testing.T
	dir  string
	opts Options
}

func newBench(t *testing.T, images fakeImages, files map[string]string) *bench {
	t.Helper()
	b := &bench{t: t, dir: filepath.Join(t.TempDir(), "shop")}
	binaries := t.TempDir()
	for name, text := range map[string]string{unitBinary: "unit", managerBinary: "manager"} {
		b.write(filepath.Join(binaries, name+"-linux-amd64"), string(elfOf(t, elf.EM_X86_64))+text)
	}
	for name, text := range files {
		b.write(filepath.Join(b.dir, name), text)
	}
	b.opts = Options{
		Files: []string{filepath.Join(b.dir, "compose.yaml")}, Port: DefaultPort, Binaries: []string{binaries}, Images: images,
		Random: &endless{}, Now: time.Unix(1e9, 0),
	}
	return b
}

func (b *bench) write(file, text string) {
	b.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
		b.t.Fatal(err)
	}
}

// read returns a file of the folder.
func (b *bench) read(name string) string {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

func (b *bench) attach() (*Result, error) {
	b.t.Helper()
	loading.Lock()
	defer loading.Unlock()
	return Compose(b.t.Context(), b.opts)
}

// must attaches, and returns the findings by service.
func (b *bench) must() map[string]Finding {
	b.t.Helper()
	r, err := b.attach()
	if err != nil {
		b.t.Fatal(err)
	}
	found := map[string]Finding{}
	for _, f := range r.Services {
		found[f.Service] = f
	}
	return found
}

// elfOf returns the header of a static binary.
func elfOf(t *testing.T, machine elf.Machine) []byte {
	t.Helper()
	header := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: 1, Ehsize: 64}
	copy(header.Ident[:], []byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1})
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, header); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
