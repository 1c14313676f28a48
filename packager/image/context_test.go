package image

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/packager/internal/sample"
)

// jobs are those of the sample application on one base; the manager's image is
// made on what it is made on by itself.
func jobs(t *testing.T, ref string, c v1.Config) []*job {
	t.Helper()
	plan, err := packager.New(sample.App(), sample.Archive(), config.Config{}, packager.Options{Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	platform := v1.Platform{OS: "linux", Architecture: "amd64"}
	var out []*job
	for _, i := range plan.Images {
		j := &job{image: i, platform: platform, base: nothing(platform), entry: i.Entry, user: managerUser}
		own := managerBinary
		if i.Unit {
			own, j.user = unitBinary, ""
			j.base.ref, j.base.uid, j.base.config.Config = ref, 1000, c
		} else {
			j.entry = []string{managerBinary.path}
		}
		files, err := j.files(sample.Archive())
		if err != nil {
			t.Fatal(err)
		}
		j.trees = []tree{newTree([]entry{bytesEntry(strings.TrimPrefix(own.path, "/"), 0o755, []byte("\x7fELF"))}), files}
		out = append(out, j)
	}
	return out
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
		for _, j := range jobs(t, b.ref, b.config) {
			text, err := j.dockerfile()
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&all, "# %s\n%s\n", j.image.Name, text)
		}
		if strings.Contains(all.String(), "\nRUN") {
			t.Errorf("%s has a RUN step", name)
		}
		sample.Golden(t, name+".Dockerfile", all.Bytes())
	}
}

func TestTheSameImageGivesTheSameContext(t *testing.T) {
	t.Parallel()
	var first []byte
	for range 3 {
		var all bytes.Buffer
		for _, j := range jobs(t, "x", v1.Config{}) {
			if err := j.writeContext(t.Context(), &all); err != nil {
				t.Fatal(err)
			}
		}
		if first == nil {
			first = all.Bytes()
		}
		if !bytes.Equal(first, all.Bytes()) {
			t.Fatal("differs")
		}
	}
}

func TestALayerHasEveryFolderBeforeWhatIsInIt(t *testing.T) {
	t.Parallel()
	for _, j := range jobs(t, "x", v1.Config{Cmd: []string{"sh"}}) {
		for _, tree := range j.trees {
			checkLayer(t, j.image.Name, tree)
		}
	}
}

func checkLayer(t *testing.T, image string, layer tree) {
	t.Helper()
	var buf bytes.Buffer
	if err := layer.write(t.Context(), &buf); err != nil {
		t.Fatal(err)
	}
	if size, err := layer.size(); err != nil || size != int64(buf.Len()) {
		t.Errorf("%s: a layer of %d bytes is said to have %d, %v", image, buf.Len(), size, err)
	}
	seen := map[string]bool{"": true}
	for tr := tar.NewReader(&buf); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(h.Name, "/")
		if seen[name] {
			t.Errorf("%s: %s comes twice", image, name)
		}
		seen[name] = true
		if i := strings.LastIndex(name, "/"); i >= 0 && !seen[name[:i]] {
			t.Errorf("%s: %s comes before its folder", image, name)
		}
		if !h.ModTime.Equal(epoch) {
			t.Errorf("%s: %s is of %v", image, name, h.ModTime)
		}
	}
}

func TestNamesOfAnyLengthAndLanguageAreCountedRight(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("sehr-lang/", 30) + "ünï 名.sh"
	checkLayer(t, "long", newTree([]entry{bytesEntry(long, 0o644, []byte("x")), bytesEntry("a-b", 0o644, nil), bytesEntry("a/b", 0o644, make([]byte, 512))}))
}

func TestAFileThatHasChangedSinceEndsTheLayer(t *testing.T) {
	t.Parallel()
	e := bytesEntry("a", 0o644, []byte("12345"))
	for _, size := range []int64{4, 6} {
		e.size = size
		if err := newTree([]entry{e}).write(t.Context(), io.Discard); err == nil || !strings.Contains(err.Error(), `cannot add "a"`) {
			t.Errorf("size %d: %v", size, err)
		}
	}
}

// passwd is a base with a file.
func passwd(user, text string) *found {
	return &found{config: &v1.ConfigFile{Config: v1.Config{User: user}}, file: func(_ context.Context, name string) (io.Reader, error) {
		if name != "etc/passwd" || text == "" {
			return nil, fs.ErrNotExist
		}
		return strings.NewReader(text), nil
	}}
}

func TestTheOwnerIsTheBasesUser(t *testing.T) {
	t.Parallel()
	text := "root:x:0:0::/:\nweb:x:33:33::/:\napp:x:1000:1000::/:\n"
	for user, want := range map[string]int{"": 0, "root": 0, "0": 0, "app": 1000, "1000:1000": 1000, "app:web": 1000, "root:web": 0, "web": 33} {
		if got, err := userID(t.Context(), passwd(user, text)); err != nil || got != want {
			t.Errorf("%q: %d, want %d; %v", user, got, want, err)
		}
	}
	if _, err := userID(t.Context(), passwd("nobody", text)); err == nil || !strings.Contains(err.Error(), `"nobody", which is not in its /etc/passwd`) {
		t.Errorf("unknown: %v", err)
	}
	if _, err := userID(t.Context(), passwd("app", "")); err == nil || !strings.Contains(err.Error(), "no /etc/passwd") {
		t.Errorf("no file: %v", err)
	}
}

func TestWhatTheEngineSaysIsFollowedToItsError(t *testing.T) {
	t.Parallel()
	b := New(nil, Options{Progress: io.Discard})
	for stream, want := range map[string]string{
		`{"stream":"Step 1\n"}{"status":"Pulling","id":"x"}`: "",
		`{"stream":"a"}{"error":"no space left\n"}`:          "no space left",
		`{"stream":"a"}{"str`:                                "the engine's answer broke off: unexpected EOF",
	} {
		err := b.follow(strings.NewReader(stream))
		if got := fmt.Sprint(err); want == "" && err != nil || want != "" && got != want {
			t.Errorf("%s: %v", stream, err)
		}
	}
}
