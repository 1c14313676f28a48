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

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/internal/files"
)

// Replacing says that the secrets of a folder are being replaced, and what finishes that.
func Replacing(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, SecretsDir, packager.RotationFile)); dir == "" || err != nil {
		return nil //nolint:nilerr // nobody replaces them
	}
	return fmt.Errorf("the secrets of %q are being replaced: `toskose rotate %s` goes on with that", dir, dir)
}

// Beat says that somebody is about to replace the secrets of a folder, right now.
func Beat(dir string) error {
	now := time.Now()
	return os.Chtimes(filepath.Join(dir, SecretsDir, packager.RotationFile), now, now)
}

// beats is how long that counts.
const beats = 30 * time.Second

// Beats reports whether somebody is about to replace the secrets of a folder: what was
// interrupted may not be gone on with for days.
func Beats(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, SecretsDir, packager.RotationFile))
	return err == nil && time.Since(info.ModTime()) < beats
}

// Replacement is a secret that takes the place of another of the same name.
type Replacement struct {
	Value  string `json:"value"`
	Before string `json:"before"` // the suffix of the one before
	Suffix string `json:"suffix"` // its own
}

// Replacements returns what takes the place of secrets of a folder, with names for a Swarm
// that are drawn from random.
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

// Replace has a folder, or a copy of a release, hold other secrets where it has those that
// they take the place of: their values, what a Swarm calls them, and both in manifests. What
// was replaced before stays so.
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
			continue // it is another application's, or of another time
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

// Follow has a copy of a release hold the secrets that the folder has by now, as [Replace]
// does: a Swarm gives no other value to a secret of the same name.
func Follow(copied, dir string) error {
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

// rename puts other suffixes into the manifests of a folder.
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
		if now := renamed(data, suffixes); !bytes.Equal(now, data) {
			if err := files.Write(path, info.Mode().Perm(), now); err != nil {
				return err
			}
		}
	}
	return nil
}

// renamed returns a manifest with other suffixes: NAME_SUFFIX for a Swarm, NAME=SUFFIX on
// Kubernetes.
func renamed(manifest []byte, suffixes map[string]string) []byte {
	for before, now := range suffixes {
		for _, mark := range []string{"_", "="} {
			manifest = bytes.ReplaceAll(manifest, []byte(mark+before), []byte(mark+now))
		}
	}
	return manifest
}

// AsPackaged returns what a manifest of a folder would be if none of its secrets had been
// replaced since.
func AsPackaged(dir string) (func(manifest []byte) []byte, error) {
	names, err := readNames(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return func(manifest []byte) []byte { return manifest }, nil
	}
	first := map[string]string{}
	for _, n := range names {
		if n.First != "" {
			first[n.Suffix] = n.First
		}
	}
	return func(manifest []byte) []byte { return renamed(manifest, first) }, err
}

// Overwrite changes a file in its place, as containers may have it mounted. Its time is
// that of after all of it was there, for those who read it again by that.
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

// WriteSecret writes a file of the folder of secrets that no container has, for nobody else
// to read.
func WriteSecret(dir, name string, data []byte) error {
	return files.Write(filepath.Join(dir, SecretsDir, name), 0o600, data)
}

// Netrc returns curl's file with another password for the same machines.
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
