package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/internal/docs"
)

// project is a folder with a Compose file, its images in a layout, and binaries of unit and manager.
type project struct {
	t        *testing.T
	dir      string
	images   string
	out, err bytes.Buffer
	env      environment
}

// newProject makes the project the working directory of the test.
func newProject(t *testing.T) *project {
	t.Helper()
	p := &project{t: t, dir: filepath.Join(t.TempDir(), "shop"), images: filepath.Join(t.TempDir(), "images")}
	binaries := t.TempDir()
	for _, name := range []string{"toskose-unit", "toskose-manager"} {
		header := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]), Version: 1, Ehsize: 64}
		copy(header.Ident[:], []byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1})
		var b bytes.Buffer
		if err := binary.Write(&b, binary.LittleEndian, header); err != nil {
			t.Fatal(err)
		}
		p.write(filepath.Join(binaries, name), b.String())
	}
	p.write(filepath.Join(p.dir, "compose.yaml"), "services:\n  web: {image: shop/web}\n  db: {image: \"postgres:16\"}\n")
	path, err := layout.Write(p.images, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	p.image(path, "shop/web", []string{"usr/bin/supervisord", "etc/supervisord.conf"}, "supervisord", "-n")
	p.image(path, "postgres:16", []string{"usr/bin/postgres"}, "postgres")
	p.env = environment{out: &p.out, err: &p.err, binaries: []string{binaries}, environ: []string{"TOSKOSE_CONFIG=" + filepath.Join(t.TempDir(), "config")}}
	t.Chdir(p.dir)
	return p
}

func (p *project) write(file, text string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// image adds an image with scripts to the layout.
func (p *project) image(path layout.Path, name string, files []string, command ...string) {
	p.t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, file := range files {
		if err := w.WriteHeader(&tar.Header{Name: file, Mode: 0o755, Size: 2, Typeflag: tar.TypeReg}); err != nil {
			p.t.Fatal(err)
		}
		if _, err := w.Write([]byte("#!")); err != nil {
			p.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		p.t.Fatal(err)
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil })
	if err != nil {
		p.t.Fatal(err)
	}
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: runtime.GOARCH, RootFS: v1.RootFS{Type: "layers"}, Config: v1.Config{Cmd: command}})
	if err == nil {
		img, err = mutate.AppendLayers(img, l)
	}
	if err == nil {
		err = path.AppendImage(img, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": name}))
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// run runs a command in the project's folder, and returns its exit code.
func (p *project) run(args ...string) int {
	p.t.Helper()
	p.out.Reset()
	p.err.Reset()
	return run(p.t.Context(), args, p.env)
}

// The working directory is the process's, so this test is not parallel.
func TestAttachShowsWhatTheDocumentationShows(t *testing.T) {
	shown := docs.Shown(t, "docs/attach.md", "SERVICE")
	p := newProject(t)
	if code := p.run("attach", "--images", "oci:"+p.images); code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, &p.err)
	}
	if p.out.String() != shown {
		t.Errorf("it prints\n%s\nand the documentation shows\n%s", &p.out, shown)
	}

	if code := p.run("context", "show"); code != cli.ExitOK || !strings.Contains(p.out.String(), `"manager": "http://127.0.0.1:10000"`) {
		t.Errorf("the context: exit code %d: %s%s", code, &p.out, &p.err)
	}
	if code := p.run("detach"); code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, &p.err)
	}
	for _, command := range []string{
		"docker compose -f compose.yaml -f compose.toskose.yml rm --stop --force toskose-manager", "docker compose -f compose.yaml up -d",
		"rm -r compose.toskose.yml toskose", "docker image rm shop-toskose-manager:", "toskose context rm shop",
	} {
		if !strings.Contains(p.out.String(), "  "+command) {
			t.Errorf("detach does not print %q:\n%s", command, &p.out)
		}
	}
	if _, err := os.Stat("compose.toskose.yml"); err != nil {
		t.Errorf("detach removed the file: %v", err)
	}
}

func TestAttachPrintsFindingsAsJSON(t *testing.T) {
	p := newProject(t)
	if code := p.run("attach", "--json", "--tls", "-o", "second.yml", "--images", "oci:"+p.images); code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, &p.err)
	}
	var result struct {
		Project, Manager string
		Files            []string
		Services         []struct{ Service, Reason string }
	}
	if err := json.Unmarshal(p.out.Bytes(), &result); err != nil {
		t.Fatalf("%v: %s", err, &p.out)
	}
	if result.Project != "shop" || result.Manager != "https://127.0.0.1:10000" || len(result.Services) != 2 || filepath.Base(result.Files[1]) != "second.yml" {
		t.Errorf("%+v", result)
	}
	if code := p.run("detach", "second.yml", "-o", "yaml"); code != cli.ExitOK || !strings.Contains(p.out.String(), "  - rm -r second.yml second-toskose") {
		t.Errorf("detach: exit code %d: %s%s", code, &p.out, &p.err)
	}
}

func TestAttachAndDetachRefuseBadInput(t *testing.T) {
	p := newProject(t)
	for words, want := range map[string]struct {
		code int
		said string
	}{
		"attach --images else":                  {cli.ExitUsage, `--images "else" is not one of engine, registry, oci:DIR`},
		"attach --port 0":                       {cli.ExitUsage, "--port 0 is not a port"},
		"attach nothing.yml":                    {cli.ExitFailed, "nothing.yml: no such file"},
		"attach --exclude web --images oci:DIR": {cli.ExitFailed, "no service can be attached"},
		"detach":                                {cli.ExitUnopened, "compose.toskose.yml does not exist here: name the file that toskose attach wrote"},
		"detach compose.yaml":                   {cli.ExitUnopened, "was not written by toskose attach"},
	} {
		args := strings.Fields(strings.ReplaceAll(words, "DIR", p.images))
		if code := p.run(args...); code != want.code || !strings.Contains(p.err.String(), want.said) {
			t.Errorf("%s: exit code %d, %s", words, code, &p.err)
		}
	}
}
