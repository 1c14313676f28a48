package packager_test

import (
	"maps"
	"testing"

	"github.com/toskose/toskose/internal/sample"
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/config"
)

// A manager tells containers of two releases apart by these digests alone: with another
// script the configuration of the unit was the same as before.
func TestAnotherScriptIsAnotherVersion(t *testing.T) {
	t.Parallel()
	archive := sample.Archive()
	digests := func() map[string]string {
		t.Helper()
		p, err := packager.New(sample.App(), archive, config.Config{}, packager.Options{AllowHost: sample.Host, Version: "1.2.3"})
		if err != nil {
			t.Fatal(err)
		}
		return p.Digests
	}
	before := digests()
	if again := digests(); !maps.Equal(before, again) {
		t.Fatalf("the same archive is %v and then %v", before, again)
	}
	for node, component := range map[string]string{"frontend": "gui", "backend": "api"} {
		script := scriptOf(t, component)
		archive[script].Data = append(archive[script].Data, "\n# another version\n"...)
		after := digests()
		for other, digest := range before {
			if same := after[other] == digest; same != (other != node) {
				t.Errorf("after a change of %s, %s is %s and was %s", script, other, after[other], digest)
			}
		}
		before = after
	}
}

func scriptOf(t *testing.T, component string) string {
	t.Helper()
	for _, c := range sample.App().Components {
		if c.Name != component {
			continue
		}
		for _, o := range c.Operations() {
			if o.Script != "" {
				return o.Script
			}
		}
	}
	t.Fatalf("component %q has no script", component)
	return ""
}
