package attach

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"

	"gopkg.in/yaml.v3"
)

// Attachment is what Compose wrote for a project.
type Attachment struct {
	Project string   `json:"project"`
	Files   []string `json:"files"`  // the user's Compose files
	File    string   `json:"file"`   // the second Compose file
	Folder  string   `json:"folder"` // with its files
	Image   string   `json:"image"`  // of the manager
}

// Read returns what Compose wrote with a second Compose file.
func Read(path string) (*Attachment, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	data, err := readLimited(path)
	if err != nil {
		return nil, err
	}
	var f struct {
		About about `yaml:"x-toskose"`
	}
	if err := yaml.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("cannot read %q: %w", path, err)
	}
	if !bytes.HasPrefix(data, []byte(header)) || f.About.Folder == "" {
		return nil, fmt.Errorf("%q was not written by toskose attach", path)
	}
	dir := filepath.Dir(path)
	a := &Attachment{Project: f.About.Project, File: path, Folder: filepath.Join(dir, f.About.Folder), Image: f.About.Image}
	for _, name := range f.About.Files {
		a.Files = append(a.Files, filepath.Join(dir, name))
	}
	return a, nil
}

// Restore returns the commands that restore the containers as they were before, and the
// commands that then remove what it wrote.
func (a *Attachment) Restore() (restore, remove [][]string) {
	all := append(slices.Clone(a.Files), a.File)
	restore = [][]string{append(ComposeCommand(all...), "rm", "--stop", "--force", Manager), append(ComposeCommand(a.Files...), "up", "-d")}
	return restore, [][]string{{"rm", "-r", a.File, a.Folder}, {"docker", "image", "rm", a.Image}}
}

// ComposeCommand returns the beginning of Compose's command line for files.
func ComposeCommand(files ...string) []string {
	words := []string{"docker", "compose"}
	for _, file := range files {
		words = append(words, "-f", file)
	}
	return words
}
