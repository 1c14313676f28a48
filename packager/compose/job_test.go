package compose_test

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/spec"
)

// TestTheContainerOfAJobSaysSoAndIsNotTakenBack where it has ended soon after an update.
func TestTheContainerOfAJobSaysSoAndIsNotTakenBack(t *testing.T) {
	t.Parallel()
	p := plan(t, config.Config{})
	for i := range p.Services {
		if s := &p.Services[i]; s.Name == "backend" {
			s.Job = &packager.Job{Name: "migrate", Task: spec.Task{Completions: 1}}
		}
	}
	dir := t.TempDir()
	if err := packaged(dir, p, defaults, rand.Reader); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{compose.SwarmFile, compose.LocalFile} {
		text := read(t, dir, file)
		if n := strings.Count(text, packager.LabelJob+": \"migrate\"\n"); n != 1 {
			t.Errorf("%s has the label of the job %d times:\n%s", file, n, text)
		}
		if n := strings.Count(text, "    healthcheck:\n      disable: true\n"); n != 1 {
			t.Errorf("%s leaves out %d health checks:\n%s", file, n, text)
		}
		if n := strings.Count(text, "failure_action: continue\n"); n != 1 {
			t.Errorf("%s goes on after %d updates:\n%s", file, n, text)
		}
	}
}
