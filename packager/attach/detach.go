package attach

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"gopkg.in/yaml.v3"
)

// Attachment is what Compose or Cluster wrote.
type Attachment struct {
	Project   string   `json:"project"`
	Files     []string `json:"files"`               // the user's Compose files, or the folder with the user's kustomization
	File      string   `json:"file,omitempty"`      // the second Compose file; empty: a kustomization was written
	Folder    string   `json:"folder"`              // with the other files
	Image     string   `json:"image,omitempty"`     // of the manager that Compose builds
	Namespace string   `json:"namespace,omitempty"` // on Kubernetes, if the manifests name it
}

// Read returns a result that was written earlier: a second Compose file, or the folder of a kustomization.
func Read(path string) (*Attachment, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return readCluster(path)
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

// readCluster reads the kustomization that Cluster wrote.
func readCluster(dir string) (*Attachment, error) {
	data, err := readLimited(filepath.Join(dir, kustomization))
	if err != nil {
		return nil, err
	}
	var k struct {
		Resources []string `yaml:"resources"`
		Namespace string   `yaml:"namespace"`
	}
	if err := yaml.Unmarshal(data, &k); err != nil {
		return nil, fmt.Errorf("cannot read the kustomization in %q: %w", dir, err)
	}
	if !bytes.HasPrefix(data, []byte(header)) || len(k.Resources) == 0 {
		return nil, fmt.Errorf("the kustomization in %q was not written by toskose attach", dir)
	}
	base := filepath.Join(dir, k.Resources[0])
	return &Attachment{Project: filepath.Base(base), Files: []string{base}, Folder: dir, Namespace: k.Namespace}, nil
}

// Restore returns the commands that restore the containers as they were before, and the
// commands that then remove the written files.
func (a *Attachment) Restore() (restore, remove [][]string) {
	if a.File == "" {
		added := []string{"kubectl", "delete", "deployment,service,configmap,secret", "-l", managedBy + "=" + managedByAttach}
		if a.Namespace != "" {
			added = append(added, "--namespace", a.Namespace)
		}
		return [][]string{{"kubectl", "apply", "-k", a.Files[0]}, added}, [][]string{{"rm", "-r", a.Folder}}
	}
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
