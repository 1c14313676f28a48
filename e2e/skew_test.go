//go:build skew

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/image"
)

const folders = "testdata/folders"

// skewed is an application that two versions of toskose have in hand.
type skewed struct {
	*application
	before  string            // the toskose of the release before
	version map[string]string // of either, by the path of toskose
}

func newSkewed(t *testing.T, source string, inputs []string, flags ...string) *skewed {
	t.Helper()
	engine := dockerEngine(t)
	if err := bases(); err != nil {
		t.Fatalf("the base images are missing: %v", err)
	}
	s := &skewed{before: filepath.Join(os.Getenv("TOSKOSE_SKEW_BEFORE"), "toskose")}
	if !filepath.IsAbs(s.before) {
		t.Fatal("make test-skew builds the release before, and says where it is")
	}
	words := strings.Fields(must(t, "", s.before, "version").stdout)
	if len(words) < 2 || !strings.HasPrefix(words[1], "skew-") {
		t.Fatalf("the release before is %q", words)
	}
	s.version = map[string]string{s.before: words[1], "toskose": run}
	s.application = prepare(t, engine, source, inputs, func(string) string { return "" }, flags...)
	s.target = byCompose
	t.Cleanup(func() {
		for _, name := range []string{"toskose-unit:", "toskose-manager:"} { // there are none, where binaries were taken
			_, _ = engine.ImageRemove(contextAfter(t), name+words[1], image.RemoveOptions{PruneChildren: true})
		}
	})
	return s
}

// packages has this toskose package a version of the archive, with the toskose.yml that the
// release before has written.
func (s *skewed) packages(t *testing.T, folder, version string, flags ...string) string {
	t.Helper()
	s.packaging[len(s.packaging)-1] = s.config
	write(t, s.config, read(t, filepath.Join(s.dir, "toskose.yml")))
	return s.packageIn(t, folders, folder, func(csar string) {
		for _, script := range []string{"box", "neighbour"} {
			if err := os.WriteFile(filepath.Join(csar, script, "version.sh"), []byte("#!/bin/sh\necho version "+version+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}, flags...)
}

// stands waits until the goal is reached, which nobody sets again, and expects a version of the
// archive in containers whose unit and manager are of one toskose.
func (s *skewed) stands(t *testing.T, dir, archive, toskose string) {
	t.Helper()
	must(t, "", "toskose", "wait", "--dir", dir, "--timeout", patience)
	if r := must(t, "", "toskose", "logs", "--dir", dir, "--no-prefix"); strings.Count(r.stdout, "version "+archive+"\n") != 2 || strings.Count(r.stdout, "\n") != 2 {
		t.Errorf("it is not version %s of the archive: %v", archive, r)
	}
	toskosed := 0
	for _, line := range s.all(t) {
		built, err := s.engine.ImageInspect(t.Context(), strings.Fields(line)[2])
		if err != nil {
			t.Fatal(err)
		}
		if of, ok := built.Config.Labels["io.toskose.version"]; ok {
			toskosed++
			if of != s.version[toskose] {
				t.Errorf("%s is of %s, not of %s", line, of, s.version[toskose])
			}
		}
	}
	if toskosed != 3 {
		t.Errorf("%d containers have a unit or the manager, not 3", toskosed)
	}
}

// TestWhatTheReleaseBeforeHasDeployed is a user's upgrade: an application that the toskose of
// the release before has packaged and deployed is looked after by this one, packaged again,
// deployed, taken back and removed; the latter two also by the one before, on another machine.
func TestWhatTheReleaseBeforeHasDeployed(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"plain": nil, "with TLS, taken back and removed by the release before": {"--tls"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, last := newSkewed(t, folders, nil, flags...), "toskose"
			if len(flags) > 0 {
				last = s.before
			}
			t.Cleanup(func() { s.undeploy(t) })
			must(t, "", s.before, s.packaging...)
			must(t, "", s.before, s.deploying(s.dir, "--up")...)
			s.stands(t, s.dir, "one", s.before)
			s.lookedAfter(t)
			s.upgraded(t, last)
		})
	}
}

// TestWhatTheReleaseBeforeHasPackagedIsDeployed: nothing of it has run yet.
func TestWhatTheReleaseBeforeHasPackagedIsDeployed(t *testing.T) {
	t.Parallel()
	s := newSkewed(t, folders, nil)
	t.Cleanup(func() { s.undeploy(t) })
	must(t, "", s.before, s.packaging...)
	must(t, "", "toskose", s.deploying(s.dir, "--up")...)
	s.stands(t, s.dir, "one", s.before)
	must(t, "", "toskose", s.undeploying()...)
	if left := s.all(t); len(left) > 0 {
		t.Errorf("it still runs: %q", left)
	}
}

// lookedAfter has this toskose go on with what the release before has packaged and deployed.
func (s *skewed) lookedAfter(t *testing.T) {
	t.Helper()
	before, release := s.all(t), s.releases(t)
	for line, want := range map[string]string{
		"ls": s.name, "release DIR": release[0], "ps --dir DIR": "changing", "goal --dir DIR": "up",
		"history --printed --dir DIR": "version one", "events --dir DIR": "box/changing", "top --dir DIR": "changing",
	} {
		if r := must(t, "", "toskose", strings.Fields(strings.ReplaceAll(line, "DIR", s.dir))...); !strings.Contains(r.stdout, want) {
			t.Errorf("toskose %s does not say %q: %v", line, want, r)
		}
	}
	// Containers may be replaced by this version's deploying what has not changed, but no more than once
	// and by what they were: the goal brings back what ran.
	must(t, "", "toskose", s.deploying(s.dir)...)
	s.stands(t, s.dir, "one", s.before)
	once := s.all(t)
	if !slices.Equal(imagesOf(once), imagesOf(before)) {
		t.Errorf("deployed again, it is %q, and was %q", once, before)
	}
	must(t, "", "toskose", s.deploying(s.dir)...)
	if after := s.all(t); !slices.Equal(after, once) {
		t.Errorf("deployed once more, it is replaced: %q, then %q", once, after)
	}
	if again := s.releases(t); again[0] != release[0] {
		t.Errorf("release %s is now %s", release[0], again[0])
	}
}

// upgraded packages it again beside its folder and in it; each time the release before is
// taken back. Then it is removed.
func (s *skewed) upgraded(t *testing.T, last string) {
	t.Helper()
	release := s.releases(t)[0]
	for _, step := range []struct {
		folder, archive string
		flags           []string
	}{
		{"beside", "two", []string{"--from", s.dir}}, {"out", "three", nil},
	} {
		dir := s.packages(t, step.folder, step.archive, step.flags...)
		if dir != s.dir {
			if r := must(t, "", "toskose", "diff", s.dir, dir); !strings.Contains(r.stdout, "box") || !strings.Contains(r.stdout, "changing") {
				t.Errorf("the two folders differ by %v", r)
			}
		}
		must(t, "", "toskose", s.deploying(dir)...)
		s.stands(t, dir, step.archive, "toskose")
		must(t, "", last, s.deploying(dir, "--rollback")...)
		s.stands(t, s.dir, "one", s.before)
		if now := s.releases(t)[0]; now != release {
			t.Errorf("after a rollback release %s runs, and not %s", now, release)
		}
	}
	must(t, "", last, "undeploy", "--volumes", "--timeout", patience, s.name)
	if left := s.all(t); len(left) > 0 {
		t.Errorf("it still runs: %q", left)
	}
}
