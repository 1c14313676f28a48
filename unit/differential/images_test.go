package differential

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestConfigurationsOfImagesAreOfTheirOwn holds the scenarios of public images
// to what makes each worth its time: where it was seen, and a set of keys that
// no other has.
func TestConfigurationsOfImagesAreOfTheirOwn(t *testing.T) {
	t.Parallel()
	corpus, err := readCorpus()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, s := range corpus {
		if !strings.HasPrefix(s.name, "image-") {
			continue
		}
		if !strings.Contains(s.comment, "https://") {
			t.Errorf("%s: its comment does not say where the configuration was seen", s.name)
		}
		keys := strings.Join(s.keys(), " ")
		if other, ok := seen[keys]; ok {
			t.Errorf("%s has the same keys as %s: %s", s.name, other, keys)
		}
		seen[keys] = s.name
	}
	if len(seen) == 0 {
		t.Error("no scenario is of an image")
	}
}

// keys are those of a scenario's configurations, each once and after the kind
// of its section.
func (s scenario) keys() []string {
	set := map[string]bool{}
	for name, text := range s.files {
		if !strings.HasSuffix(name, ".conf") && !strings.HasSuffix(name, ".ini") {
			continue
		}
		section := ""
		for line := range strings.Lines(text) {
			key, _, isKey := strings.Cut(line, "=")
			switch {
			case strings.HasPrefix(line, "["):
				section, _, _ = strings.Cut(strings.Trim(line, "[]\n"), ":")
			case isKey && !strings.ContainsAny(line[:1], " \t;#"):
				set[section+"."+strings.TrimSpace(key)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(set))
}
