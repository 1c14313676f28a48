package manifests_test

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/toskose/toskose/internal/sample"
	"github.com/toskose/toskose/operator/levels"
	"github.com/toskose/toskose/operator/manifests"
)

func structure(t *testing.T, text string) levels.Structure {
	t.Helper()
	s, err := levels.Parse(text, levels.LevelGroup)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Each number of levels has a file with everything that is generated for it.
func TestTheManifestsOfAnyNumberOfLevels(t *testing.T) {
	t.Parallel()
	var ten []string
	for i := range 10 {
		ten = append(ten, fmt.Sprintf("level%d", i+1))
	}
	tests := map[string]struct {
		levels   string
		together bool
	}{
		"0": {"", false}, "1": {"factory:factories", false}, "2": {"assemblyline,asset", false}, "10": {strings.Join(ten, ","), false},
		"together": {"assemblyline,asset", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files, err := manifests.Generate(manifests.Options{
				Structure: structure(t, test.levels), Group: levels.LevelGroup, Namespace: "plant", Image: "toskose-operator:1.2.3", Together: test.together,
			})
			if err != nil {
				t.Fatal(err)
			}
			var all strings.Builder
			for _, f := range files {
				fmt.Fprintf(&all, "#### %s\n%s", f.Name, f.Data)
			}
			sample.Golden(t, path.Join("levels-"+name+".yaml"), []byte(all.String()))
		})
	}
}

func TestOptionsThatNoClusterAcceptsAreRefusedTogether(t *testing.T) {
	t.Parallel()
	_, err := manifests.Generate(manifests.Options{Namespace: "Plant"})
	want := `namespace "Plant" is not a name for a namespace: small letters, digits and '-', at most 63
the operator's image has no name`
	if err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
}
