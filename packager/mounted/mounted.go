// Package mounted manages the copies of secrets that the containers of a Compose application mount. The copies are at a path
// of this machine that does not depend on the folder from which the application is deployed. Deploying from a different folder
// therefore replaces no container, and the folder may be removed. The package starts no goroutine.
package mounted

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

	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/internal/files"
	"github.com/toskose/toskose/packager/output"
)

// Secrets are the copies of an application's secrets for one engine.
type Secrets struct{ dir string }

// Of returns the copies of an application's secrets below root, the folder for all applications.
func Of(root, engineID, app string) Secrets {
	engine := sha256.Sum256([]byte(engineID)) // an engine ID may contain colons
	return Secrets{filepath.Join(root, hex.EncodeToString(engine[:6]), app)}
}

const (
	filesDir   = "secrets"
	manifest   = "docker-compose.secrets.yml"
	folderFile = "folder" // contains the path of the folder that the secrets were copied from
)

// Refresh updates an application's copies with a folder's current secrets, for every engine whose copies come from that
// folder.
func Refresh(root, app, folder string) error {
	engines, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range engines {
		err = errors.Join(err, Secrets{filepath.Join(root, e.Name(), app)}.Follow(folder))
	}
	return err
}

// Take copies the secret files that a folder's manifest lists, and returns a Compose file that refers to the copies. Existing
// copies keep their inodes, because containers mount them. If own is true, a copy with a single reader belongs to that user,
// which requires root; otherwise all users of the containers can read all copies.
func (s Secrets) Take(folder string, own bool) (composeFile string, err error) {
	sources, err := compose.SecretFiles(folder)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Join(s.dir, filesDir), 0o700); err != nil {
		return "", fmt.Errorf("cannot make a folder for what containers mount: %w", err)
	}
	copies := map[string]string{}
	for name, source := range sources {
		copies[name] = s.file(name)
		err := copyTo(copies[name], source.Path)
		if err == nil && own {
			err = giveTo(copies[name], source.User)
		}
		if err != nil {
			return "", fmt.Errorf("cannot copy secret %q: %w", name, err)
		}
	}
	data, err := compose.WithSecretFiles(copies)
	if err != nil {
		return "", err
	}
	if err := files.Write(filepath.Join(s.dir, folderFile), 0o600, []byte(folder)); err != nil {
		return "", err
	}
	path := filepath.Join(s.dir, manifest)
	return path, files.Write(path, 0o600, data)
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
	return files.Write(path, info.Mode().Perm(), data)
}

// giveTo makes a file readable only by a user, given by ID. It does nothing if user is empty.
func giveTo(path, user string) error {
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
func (s Secrets) Follow(folder string) error {
	names, sources, err := s.both(folder)
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
func (s Secrets) Differing(folder string) (names []string, ok bool, err error) {
	sources, err := compose.SecretFiles(folder)
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

// Tidy removes copies that the manifest of their folder does not list.
func (s Secrets) Tidy(folder string) error {
	names, sources, err := s.both(folder)
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
func (s Secrets) Remove() error {
	if err := os.RemoveAll(s.dir); err != nil {
		return fmt.Errorf("cannot remove the secrets that containers had mounted: %w", err)
	}
	s.leave()
	return nil
}

// leave removes empty folders.
func (s Secrets) leave() {
	_ = os.Remove(s.dir)
	_ = os.Remove(filepath.Dir(s.dir)) // empty if this was the engine's last application
}

// removeProbes removes the files of calls of Seen that were killed.
func (s Secrets) removeProbes() {
	left, _ := filepath.Glob(filepath.Join(s.dir, ".seen.*")) // the pattern is valid
	for _, path := range left {
		_ = os.Remove(path) // a remaining file does no harm
	}
}

// Seen reports whether by, called with a newly created file, sees that file.
func (s Secrets) Seen(by func(path string) bool) bool {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return false
	}
	defer s.leave()
	s.removeProbes()
	f, err := os.CreateTemp(s.dir, ".seen.*")
	if err != nil {
		return false
	}
	defer os.Remove(f.Name())
	return f.Close() == nil && by(f.Name())
}

func (s Secrets) file(name string) string { return filepath.Join(s.dir, filesDir, name) }

// both returns the names of the copies and the folder's secret files, or neither if the copies come from another folder.
func (s Secrets) both(folder string) (names []string, sources map[string]compose.SecretFile, err error) {
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
	sources, err = compose.SecretFiles(folder)
	return names, sources, err
}
