package output

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/packager"
)

// UnfinishedRotation returns an error if a rotation of the folder's secrets is in progress or was interrupted.
func UnfinishedRotation(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, SecretsDir, packager.RotationFile)); dir == "" || err != nil {
		return nil //nolint:nilerr // no rotation
	}
	return fmt.Errorf("the secrets of %q are being replaced: run `toskose rotate %s` to finish", dir, dir)
}

// MarkRotating records that a rotation of the folder's secrets is running now.
func MarkRotating(dir string) error {
	now := time.Now()
	return os.Chtimes(filepath.Join(dir, SecretsDir, packager.RotationFile), now, now)
}

// markValidity is how long a mark of MarkRotating is valid.
const markValidity = 30 * time.Second

// IsRotating reports whether a rotation of the folder's secrets is running. An interrupted one
// is not, and may be resumed days later.
func IsRotating(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, SecretsDir, packager.RotationFile))
	return err == nil && time.Since(info.ModTime()) < markValidity
}

// Replacement is the new value of a secret.
type Replacement struct {
	Value  string `json:"value"`
	Before string `json:"before"` // the old suffix of its name in a Swarm
	Suffix string `json:"suffix"` // the new suffix
}

// Replacements returns replacements of secrets of a folder, with random suffixes.
func Replacements(dir string, values map[string]string, random io.Reader) (map[string]Replacement, error) {
	names, err := readNames(dir)
	if err != nil {
		return nil, err
	}
	all := map[string]Replacement{}
	for name, value := range values {
		drawn, err := draw(random, 4)
		if err != nil {
			return nil, err
		}
		all[name] = Replacement{Value: value, Before: names[name].Suffix, Suffix: hex.EncodeToString(drawn)}
	}
	return all, nil
}

// Replace replaces secrets of a folder, or of a copy of a release: their values, their names in
// a Swarm, and both in manifests. Secrets that the folder does not have, or has already
// replaced, are not changed.
func Replace(dir string, secrets map[string]Replacement) error {
	names, err := readNames(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	edit := map[string]string{}
	for name, r := range secrets {
		was, ok := names[name]
		if !ok || was.Suffix != r.Before && was.Suffix != r.Suffix {
			continue // another application's secret, or another version of it
		}
		if err := Overwrite(filepath.Join(dir, SecretsDir, name), r.Value); err != nil {
			return fmt.Errorf("cannot replace secret %q: %w", name, err)
		}
		if was.Suffix == r.Suffix {
			continue
		}
		sum := sha256.Sum256([]byte(r.Value))
		now := swarmName{Suffix: r.Suffix, Digest: hex.EncodeToString(sum[:]), First: was.First}
		if now.First == "" {
			now.First = was.Suffix
		}
		names[name], edit[r.Before] = now, r.Suffix
	}
	if len(edit) == 0 {
		return nil
	}
	if err := rename(dir, edit); err != nil {
		return err
	}
	data, err := json.MarshalIndent(names, "", "  ")
	if err != nil {
		return err
	}
	return WriteSecret(dir, packager.SecretNamesFile, append(data, '\n'))
}

// UpdateCopy replaces the secrets of a copy of a release by the folder's current ones, like
// [Replace]: secrets of a Swarm are immutable.
func UpdateCopy(copied, dir string) error {
	then, err := readNames(copied)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	names, err := readNames(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	secrets := map[string]Replacement{}
	for name, was := range then {
		now, ok := names[name]
		if !ok || now.Suffix == was.Suffix {
			continue
		}
		value, err := os.ReadFile(filepath.Join(dir, SecretsDir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("cannot read the secret: %w", err)
		}
		secrets[name] = Replacement{Value: string(value), Before: was.Suffix, Suffix: now.Suffix}
	}
	return Replace(copied, secrets)
}

// rename replaces suffixes in the manifests of a folder.
func rename(dir string, suffixes map[string]string) error {
	all, err := manifestsIn(dir)
	if err != nil {
		return err
	}
	for _, name := range all {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		now, err := renamed(data, suffixes)
		if err != nil {
			return fmt.Errorf("cannot rename secrets in %q: %w", path, err)
		}
		if !bytes.Equal(now, data) {
			if err := WriteFile(path, info.Mode().Perm(), now); err != nil {
				return err
			}
		}
	}
	return nil
}

// SecretAnnotation is the annotation of a Kubernetes Secret: NAME=SUFFIX. The suffix changes with the value but does not reveal it.
const SecretAnnotation = "io.toskose.secret" //nolint:gosec // a name, not a credential

// renamed replaces the suffixes of secrets in a manifest: NAME_SUFFIX, the name of a Swarm secret, and NAME=SUFFIX, the annotation
// of a Kubernetes Secret. All other bytes stay, so that the manifest keeps its layout.
func renamed(manifest []byte, suffixes map[string]string) ([]byte, error) {
	if len(suffixes) == 0 {
		return manifest, nil
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(manifest, &doc); err != nil {
		return nil, err
	}
	lines := bytes.SplitAfter(manifest, []byte("\n"))
	for _, n := range secretNames(&doc, "") {
		before := n.Value[strings.LastIndexAny(n.Value, "_=")+1:]
		now, ok := suffixes[before]
		line := lines[n.Line-1]
		at := bytes.LastIndex(line, []byte(before))
		if !ok || at < n.Column-1 {
			continue
		}
		lines[n.Line-1] = slices.Concat(line[:at], []byte(now), line[at+len(before):])
	}
	return bytes.Join(lines, nil), nil
}

// secretNames returns the values in a manifest that end in the suffix of a secret. path is the path of n: its keys, each after a
// slash.
func secretNames(n *yaml.Node, path string) []*yaml.Node {
	var all []*yaml.Node
	switch n.Kind {
	case yaml.DocumentNode, yaml.SequenceNode:
		for _, child := range n.Content {
			all = append(all, secretNames(child, path)...)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			all = append(all, secretNames(n.Content[i+1], path+"/"+n.Content[i].Value)...)
		}
	case yaml.ScalarNode:
		_, key, ofSecret := strings.Cut(strings.TrimPrefix(path, "/secrets/"), "/")
		if strings.HasPrefix(path, "/secrets/") && ofSecret && key == "name" || strings.HasSuffix(path, "/"+SecretAnnotation) {
			all = append(all, n)
		}
	case yaml.AliasNode:
	}
	return all
}

// AsPackaged returns a function that restores a manifest of the folder as it was packaged, before
// any rotation.
func AsPackaged(dir string) (func(manifest []byte) ([]byte, error), error) {
	names, err := readNames(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	first := map[string]string{}
	for _, n := range names {
		if n.First != "" {
			first[n.Suffix] = n.First
		}
	}
	return func(manifest []byte) ([]byte, error) { return renamed(manifest, first) }, err
}

// Overwrite changes a file in place, because containers may mount it. It sets the modification
// time afterwards, by which readers detect a complete change.
func Overwrite(path, text string) (err error) {
	if have, err := os.ReadFile(path); err == nil && string(have) == text {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err = f.WriteAt([]byte(text), 0); err != nil {
		return err
	}
	if err = f.Truncate(int64(len(text))); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	now := time.Now()
	return os.Chtimes(path, now, now)
}

// WriteSecret writes a file in the folder of secrets that no container mounts, with mode 0600.
func WriteSecret(dir, name string, data []byte) error {
	return WriteFile(filepath.Join(dir, SecretsDir, name), 0o600, data)
}

// Netrc returns curl's netrc file with another password for the same machines.
func Netrc(old, password string) string {
	var b strings.Builder
	for line := range strings.Lines(old) {
		words := strings.Fields(line)
		if i := slices.Index(words, "password"); i >= 0 && i+1 < len(words) {
			line = strings.Join(append(words[:i+1:i+1], netrcToken(password)), " ") + "\n"
		}
		b.WriteString(line)
	}
	return b.String()
}
