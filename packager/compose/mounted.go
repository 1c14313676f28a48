package compose

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/toskose/toskose/packager/output"
)

// MountedSecrets are the copies of secrets that an application's containers mount on an engine. Their path does not depend on the
// folder from which the application is deployed. Deploying from a different folder therefore replaces no container, and the
// folder may be removed.
type MountedSecrets struct{ dir string }

// MountedSecretsOf returns the copies of an application's secrets below root, the folder for all applications.
func MountedSecretsOf(root, engineID, app string) MountedSecrets {
	engine := sha256.Sum256([]byte(engineID)) // an engine ID may contain colons
	return MountedSecrets{filepath.Join(root, hex.EncodeToString(engine[:6]), app)}
}

const (
	filesDir   = "secrets"
	manifest   = "docker-secrets.yml"
	folderFile = "folder" // contains the path of the folder that the secrets were copied from
)

// RefreshMounted updates an application's copies with a folder's current secrets, for every engine whose copies come from that
// folder.
func RefreshMounted(root, app, folder string) error {
	engines, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range engines {
		err = errors.Join(err, MountedSecrets{filepath.Join(root, e.Name(), app)}.Follow(folder))
	}
	return err
}

// Update copies the secret files that a folder's manifest lists, and returns a Compose file that refers to the copies. Existing
// copies keep their inodes, because containers mount them. If own is true, a copy with a single reader belongs to that user,
// which requires root; otherwise all users of the containers can read all copies.
func (s MountedSecrets) Update(folder string, own bool) (composeFile string, err error) {
	sources, err := secretFiles(folder)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Join(s.dir, filesDir), 0o700); err != nil {
		return "", fmt.Errorf("cannot create the folder of the secrets that containers mount: %w", err)
	}
	copies := map[string]string{}
	for name, source := range sources {
		copies[name] = s.file(name)
		err := copyTo(copies[name], source.Path)
		if err == nil && own {
			err = setOwner(copies[name], source.User)
		}
		if err != nil {
			return "", fmt.Errorf("cannot copy secret %q: %w", name, err)
		}
	}
	data, err := withSecretFiles(copies)
	if err != nil {
		return "", err
	}
	if err := output.WriteFile(filepath.Join(s.dir, folderFile), 0o600, []byte(folder)); err != nil {
		return "", err
	}
	path := filepath.Join(s.dir, manifest)
	return path, output.WriteFile(path, 0o600, data)
}

// copyTo copies a file's content to path. An existing file is overwritten in place.
func copyTo(path, source string) error {
	data, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return output.Overwrite(path, string(data))
	}
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	return output.WriteFile(path, info.Mode().Perm(), data)
}

// setOwner makes a file readable only by a user, given by ID. It does nothing if user is empty.
func setOwner(path, user string) error {
	if user == "" {
		return nil
	}
	uid, err := strconv.Atoi(user)
	if err != nil {
		return fmt.Errorf("x-toskose-user: %w", err)
	}
	const mode = 0o400
	return errors.Join(os.Chown(path, uid, 0), os.Chmod(path, mode))
}

// Follow updates the copies with the folder's current secrets, if the copies come from that folder.
func (s MountedSecrets) Follow(folder string) error {
	names, sources, err := s.compare(folder)
	if err != nil {
		return err
	}
	for _, name := range names {
		if source, ok := sources[name]; ok {
			if err := copyTo(s.file(name), source.Path); err != nil {
				return fmt.Errorf("cannot copy secret %q: %w", name, err)
			}
		}
	}
	return nil
}

// Differing returns the names of the secrets whose copies differ from the folder's secrets. It returns false if no copies
// exist.
func (s MountedSecrets) Differing(folder string) (names []string, ok bool, err error) {
	sources, err := secretFiles(folder)
	if err != nil {
		return nil, false, err
	}
	for name, source := range sources {
		have, err := os.ReadFile(s.file(name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, false, err
		}
		want, err := os.ReadFile(source.Path)
		if err != nil {
			return nil, false, err
		}
		if ok = true; !bytes.Equal(have, want) {
			names = append(names, source.Name(name))
		}
	}
	slices.Sort(names)
	return slices.Compact(names), ok, nil
}

// RemoveUnused removes copies that the manifest of their folder does not list.
func (s MountedSecrets) RemoveUnused(folder string) error {
	names, sources, err := s.compare(folder)
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, used := sources[name]; !used {
			if err := os.Remove(s.file(name)); err != nil {
				return fmt.Errorf("cannot remove a secret: %w", err)
			}
		}
	}
	return nil
}

// Remove removes all copies.
func (s MountedSecrets) Remove() error {
	if err := os.RemoveAll(s.dir); err != nil {
		return fmt.Errorf("cannot remove the secrets that containers mounted: %w", err)
	}
	s.removeEmptyFolders()
	return nil
}

// removeEmptyFolders removes empty folders.
func (s MountedSecrets) removeEmptyFolders() {
	_ = os.Remove(s.dir)
	_ = os.Remove(filepath.Dir(s.dir)) // empty if this was the engine's last application
}

// removeProbes removes the files of calls of VisibleTo that were killed.
func (s MountedSecrets) removeProbes() {
	left, _ := filepath.Glob(filepath.Join(s.dir, ".seen.*")) // the pattern is valid
	for _, path := range left {
		_ = os.Remove(path) // a remaining file does no harm
	}
}

// VisibleTo reports whether sees returns true for a newly created file.
func (s MountedSecrets) VisibleTo(sees func(path string) bool) bool {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return false
	}
	defer s.removeEmptyFolders()
	s.removeProbes()
	f, err := os.CreateTemp(s.dir, ".seen.*")
	if err != nil {
		return false
	}
	defer os.Remove(f.Name())
	return f.Close() == nil && sees(f.Name())
}

func (s MountedSecrets) file(name string) string { return filepath.Join(s.dir, filesDir, name) }

// compare returns the names of the copies and the folder's secret files, or neither if the copies come from another folder.
func (s MountedSecrets) compare(folder string) (names []string, sources map[string]secretFile, err error) {
	from, err := os.ReadFile(filepath.Join(s.dir, folderFile))
	if errors.Is(err, fs.ErrNotExist) || err == nil && string(from) != folder {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	entries, err := os.ReadDir(filepath.Join(s.dir, filesDir))
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	sources, err = secretFiles(folder)
	return names, sources, err
}
