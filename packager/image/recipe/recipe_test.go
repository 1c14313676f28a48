package recipe

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/toskose/toskose/internal/sample"
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/packager/image/layer"
	"github.com/toskose/toskose/packager/image/source"
)

// images are those of the sample application on one base; the manager's image is
// made on what it is made on by itself.
func images(t *testing.T, ref string, c v1.Config) []*Image {
	t.Helper()
	plan, err := packager.New(sample.App(), sample.Archive(), config.Config{}, packager.Options{AllowHost: sample.Host, Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	platform := v1.Platform{OS: "linux", Architecture: "amd64"}
	var all []*Image
	for _, planned := range plan.Images {
		i := &Image{Plan: planned, Platform: platform, Base: source.Scratch(platform), Entry: planned.Entry}
		own := packager.ManagerPath
		if planned.Unit {
			own = packager.UnitPath
			i.Base.Ref, i.Base.UID, i.Base.Config.Config = ref, 1000, c
		} else {
			i.Entry, i.User = []string{own}, "65532:65532"
		}
		files, err := Files(planned, sample.Archive())
		if err != nil {
			t.Fatal(err)
		}
		i.AddBinary(layer.NewTree([]layer.Entry{layer.Data(strings.TrimPrefix(own, "/"), 0o755, []byte("\x7fELF"))}))
		i.AddFiles(files)
		all = append(all, i)
	}
	return all
}

func TestDockerfilesAddOnly(t *testing.T) {
	t.Parallel()
	bases := map[string]struct {
		ref    string
		config v1.Config
	}{
		"root": {"python:3.11-slim", v1.Config{Cmd: []string{"python3"}}},
		"user": {"reg.example:5000/web:1", v1.Config{
			User: "app", StopSignal: "SIGQUIT", Healthcheck: &v1.HealthConfig{Test: []string{"NONE"}},
			Entrypoint: []string{"/its own", "$x"}, Cmd: []string{"a", "it's"}, WorkingDir: "/my work",
		}},
		"alike": {"toskosed:1", v1.Config{
			User: "65532:65532", StopSignal: "SIGTERM", Healthcheck: &v1.HealthConfig{Test: []string{"CMD", packager.UnitPath, "health"}},
		}},
	}
	for name, b := range bases {
		var all bytes.Buffer
		for _, i := range images(t, b.ref, b.config) {
			text, err := i.Dockerfile()
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&all, "# %s\n%s\n", i.Plan.Name, text)
		}
		if strings.Contains(all.String(), "\nRUN") {
			t.Errorf("%s has a RUN step", name)
		}
		sample.Golden(t, name+".Dockerfile", all.Bytes())
	}
}

func TestALayerHasEveryFolderBeforeWhatIsInIt(t *testing.T) {
	t.Parallel()
	for _, i := range images(t, "x", v1.Config{Cmd: []string{"sh"}}) {
		for _, tree := range i.Trees {
			checkOrder(t, i.Plan.Name, tree)
		}
	}
}

func checkOrder(t *testing.T, image string, tree layer.Tree) {
	t.Helper()
	seen := map[string]bool{".": true}
	for _, e := range tree {
		if seen[e.Name] {
			t.Errorf("%s: %s comes twice", image, e.Name)
		}
		seen[e.Name] = true
		if !seen[path.Dir(e.Name)] {
			t.Errorf("%s: %s comes before its folder", image, e.Name)
		}
	}
}

func TestFilesBelongToTheUserOfTheBaseWhereThePlanSaysSo(t *testing.T) {
	t.Parallel()
	for _, i := range images(t, "x", v1.Config{Cmd: []string{"sh"}}) {
		owners := map[int]int{}
		for _, e := range i.Trees[len(i.Trees)-1] {
			owners[e.UID]++
		}
		if owners[imageUser] > 0 || i.Plan.Unit && owners[1000] == 0 || !i.Plan.Unit && len(owners) > 1 {
			t.Errorf("%s: the files are of %v", i.Plan.Name, owners)
		}
	}
}

// Group 0 may change the files only where that is whom the unit runs as.
func TestFilesOfARootBaseAreWritableForRootOnly(t *testing.T) {
	t.Parallel()
	for _, uid := range []int{0, 1000} {
		for _, i := range images(t, "x", v1.Config{}) {
			if !i.Plan.Unit {
				continue
			}
			i.Base.UID = uid
			files, err := Files(i.Plan, sample.Archive())
			if err != nil {
				t.Fatal(err)
			}
			i.AddFiles(files)
			for _, e := range i.Trees[len(i.Trees)-1] {
				owned := strings.HasPrefix(e.Name, "toskose/apps") || strings.HasPrefix(e.Name, "toskose/state")
				if writable := e.Mode&0o020 != 0; owned && writable != (uid != 0) || e.Mode&0o002 != 0 {
					t.Errorf("%s of user %d has the mode %o", e.Name, uid, e.Mode)
				}
			}
		}
	}
}

func TestContextsShareTheBinary(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var folders Folders
	var binaries []os.FileInfo
	for n, i := range slices.Repeat(images(t, "x", v1.Config{})[:1], 2) {
		at := filepath.Join(dir, string(rune('a'+n)))
		if err := folders.Write(t.Context(), i, at); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(at, "toskose.tar"))
		if err != nil {
			t.Fatal(err)
		}
		binaries = append(binaries, info)
	}
	if !os.SameFile(binaries[0], binaries[1]) {
		t.Error("the binary is there twice")
	}
}
