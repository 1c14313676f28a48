package scripts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// TestTheActionCommentsOnWhatAPullRequestChanges runs it in a repository, with a stand-in for GitHub's command.
func TestTheActionCommentsOnWhatAPullRequestChanges(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir, bin := t.TempDir(), t.TempDir()
	must := func(in, name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = in
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	must(here, "env", "CGO_ENABLED=0", "go", "build", "-o", filepath.Join(bin, "toskose"), "../cmd/toskose")
	for _, name := range []string{"toskose-unit", "toskose-manager"} { // they are only copied: any static binary will do
		must(bin, "ln", "toskose", name+"-linux-"+runtime.GOARCH)
	}
	gh := "#!/bin/sh\n[ \"$4\" != --edit-last ] || exit 1\ncp \"$5\" " + dir + "/comment\n"
	if err := os.WriteFile(filepath.Join(bin, "gh"), []byte(gh), 0o755); err != nil {
		t.Fatal(err)
	}
	must(dir, filepath.Join(bin, "toskose"), "init", "shop")
	must(dir, "git", "init", "-q")
	must(dir, "git", "add", "shop")
	must(dir, "git", "commit", "-qm", "shop")
	base := must(dir, "git", "rev-parse", "HEAD")

	bases := t.TempDir()
	image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: runtime.GOARCH})
	if err != nil {
		t.Fatal(err)
	}
	images, err := layout.Write(bases, empty.Index)
	if err == nil {
		err = images.AppendImage(image, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": "python:3.11-slim"}))
	}
	if err != nil {
		t.Fatal(err)
	}

	action := func() (comment, output string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "bash", filepath.Join(here, "action.sh"))
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "ARCHIVE=shop", "OUTPUT=out", "FLAGS=--base-images oci:"+bases+" --output-images oci:"+filepath.Join(t.TempDir(), "images"),
			"BASE="+base, "PULL_REQUEST=7", "GITHUB_OUTPUT="+filepath.Join(dir, "output"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for file, into := range map[string]*string{"comment": &comment, "output": &output} {
			text, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				t.Fatal(err)
			}
			*into = string(text)
		}
		return comment, output
	}
	if _, output := action(); !strings.Contains(output, "folder=out\nchanged=false\n") {
		t.Errorf("nothing has changed, and it says %s", output)
	}
	script := filepath.Join(dir, "shop", "scripts", "clock", "start.sh")
	text, err := os.ReadFile(script)
	if err == nil {
		err = os.WriteFile(script, append(text, "# another version\n"...), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	comment, output := action()
	if !strings.HasSuffix(output, "changed=true\n") || !strings.Contains(comment, "web") || !strings.Contains(comment, "### Toskose: what this pull request changes") {
		t.Errorf("a script has changed, and it says %s and comments\n%s", output, comment)
	}
	t.Log(comment)
}
