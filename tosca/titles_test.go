package tosca_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/toskose/toskose/tosca"
)

func TestEveryCodeHasATitle(t *testing.T) {
	t.Parallel()
	code := regexp.MustCompile(`"(TOSCA-[A-Z]+-[0-9]+)"`)
	found := 0
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		for _, m := range code.FindAllSubmatch(data, -1) {
			found++
			if tosca.Title(string(m[1])) == "" {
				t.Errorf("%s: %s has no title: add it to titles.go", path, m[1])
			}
		}
		return err
	})
	if err != nil || found < 50 {
		t.Fatalf("found %d codes: %v", found, err)
	}
	if title := tosca.Title("TOSCA-NONE-001"); title != "" {
		t.Errorf("a code that does not exist is titled %q", title)
	}
}
