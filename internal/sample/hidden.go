package sample

import (
	"encoding/base64"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// Hidden searches the other files of an output folder for the contents of its secrets, and returns
// the number of lines searched for.
func Hidden(t *testing.T, dir string) (compared int) {
	t.Helper()
	const secrets, shortest = "secrets/", 12 // shorter ones may be elsewhere by chance
	hidden, open := map[string]string{}, map[string]string{}
	folder := os.DirFS(dir)
	err := fs.WalkDir(folder, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(folder, path)
		if strings.HasPrefix(path, secrets) {
			hidden[path] = string(data)
		} else {
			open[path] = string(data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range hidden {
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if len(line) < shortest || strings.HasPrefix(line, "-----") {
				continue
			}
			compared++
			for path, text := range open {
				if strings.Contains(text, line) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(line))) {
					t.Errorf("%s has what is in %s", path, name)
				}
			}
		}
	}
	return compared
}
