package recipe

import (
	"io"
	"io/fs"
	"testing"
	"testing/fstest"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/toskose/toskose/internal/sample"
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/packager/image/dockerfile"
	"github.com/toskose/toskose/packager/image/layer"
	"github.com/toskose/toskose/packager/image/source"
	unit "github.com/toskose/toskose/unit/config"
)

// TestEveryArchiveHasContextsWhoseUnitsFindTheirScripts writes each context, and
// has the unit read its configuration.
func TestEveryArchiveHasContextsWhoseUnitsFindTheirScripts(t *testing.T) {
	t.Parallel()
	scripts, folders := 0, 0
	for name, a := range sample.Archives(t, "../../..") {
		plan, err := packager.New(a.App, a.Archive, config.Config{}, packager.Options{AllowHost: []string{"/"}, Version: "1.2.3"})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, i := range plan.Images {
			what := name + ", " + i.Name
			if i.Dockerfile != "" {
				writeGiven(t, what, a.Archive, i.Dockerfile)
				folders++
			}
			if !i.Alone() {
				files := writeContext(t, what, a.Archive, i)
				if i.Unit {
					scripts += findScripts(t, what, files, plan.Digests[i.Node])
				}
			}
		}
	}
	if scripts < 50 || folders < 2 {
		t.Errorf("the archives have %d scripts and %d contexts of their own", scripts, folders)
	}
}

// writeGiven writes the context of a Dockerfile of the archive.
func writeGiven(t *testing.T, what string, archive fs.FS, file string) {
	t.Helper()
	given, err := dockerfile.Read(archive, file)
	if err == nil {
		err = given.Tree.WriteTar(t.Context(), io.Discard)
	}
	if err != nil || len(given.Parents) == 0 || len(given.Tree) < 2 {
		t.Errorf("%s: the context of %s is %+v: %v", what, file, given, err)
	}
}

// writeContext writes the context of an image and returns the application's files.
func writeContext(t *testing.T, what string, archive fs.FS, planned packager.Image) fstest.MapFS {
	t.Helper()
	files, err := Files(planned, archive)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	platform := v1.Platform{OS: "linux", Architecture: "amd64"}
	i := &Image{Plan: planned, Platform: platform, Base: source.Scratch(platform), Entry: planned.Entry}
	i.Base.Ref = planned.Base
	i.AddBinary(layer.NewTree([]layer.Entry{layer.Data("toskose/binary", 0o755, []byte("\x7fELF"))}))
	i.AddFiles(files)
	if err := new(Folders).Write(t.Context(), i, t.TempDir()); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	read := fstest.MapFS{}
	for _, e := range i.Trees[len(i.Trees)-1] {
		file := &fstest.MapFile{Mode: fs.FileMode(e.Mode)}
		if e.Dir {
			file.Mode |= fs.ModeDir
		} else if file.Data, err = readEntry(e); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		read[e.Name] = file
	}
	return read
}

func readEntry(e layer.Entry) ([]byte, error) {
	f, err := e.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// findScripts looks for what the programs of a unit run, and returns how many do.
// Its configuration has the digest that the manager is told of.
func findScripts(t *testing.T, what string, files fstest.MapFS, digest string) (found int) {
	t.Helper()
	conf, _, err := unit.Parse(packager.UnitConfPath, unit.Options{FS: files, Env: map[string]string{
		"SUPERVISORD_ALIAS": "x", "SUPERVISORD_PORT": "9001", "SUPERVISORD_USER": "x", "SUPERVISORD_LOG_LEVEL": "info",
	}})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if conf.Digest != digest {
		t.Errorf("%s: the unit's digest is %s, not %s", what, conf.Digest, digest)
	}
	for _, g := range conf.Groups {
		for _, p := range g.Programs {
			script, mode := p.Argv[0], fs.FileMode(0o111)
			if script == "/bin/sh" {
				script, mode = p.Argv[1], 0o444
			}
			info, err := fs.Stat(files, inTree(script))
			if err != nil || info.Mode()&mode == 0 {
				t.Errorf("%s: %s runs %q: %v, %v", what, p.Name, p.Argv, info, err)
			}
			found++
		}
	}
	return found
}
