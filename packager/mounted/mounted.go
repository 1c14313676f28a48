// Package mounted has the secrets that the containers of an application mount that Compose
// runs: a copy of its folder's, at a place of this machine that is the same for all folders
// which the application is deployed from. So another folder replaces no container, and may be
// removed. It starts no goroutine.
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

// Secrets are those of an application on an engine.
type Secrets struct{ dir string }

// Of returns the secrets of an application below a folder for those of all applications.
func Of(root, engineID, app string) Secrets {
	engine := sha256.Sum256([]byte(engineID)) // some engines' have colons
	return Secrets{filepath.Join(root, hex.EncodeToString(engine[:6]), app)}
}

const (
	filesDir   = "secrets"
	manifest   = "docker-compose.secrets.yml"
	folderFile = "folder" // holds the folder that was taken from
)

// Refresh has the copies of an application hold what a folder's secrets hold by now, on every
// engine where they are of that folder.
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

// Take copies the secrets that a folder's manifest has files of, and returns a Compose file
// that names the copies. What is there keeps its inode: containers have it mounted. If own is
// true, a copy that only one user reads belongs to that user, which only root can do; else
// all users of the containers can read all copies.
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

// copyTo makes a file have what another one has.
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

// giveTo makes a user, by its number, the only one that can read a file; empty: nothing
// changes.
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

// Follow has the copies hold what a folder's secrets hold by now, where they are of that
// folder.
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

// Differing returns the names of the secrets whose copies hold something else than the
// folder's; false: there are no copies.
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

// Tidy removes the copies that the manifest of their folder has no files of.
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

// leave removes folders that nothing is in.
func (s Secrets) leave() {
	_ = os.Remove(s.dir)
	_ = os.Remove(filepath.Dir(s.dir)) // of the last application of an engine
}

// removeProbes removes the files of calls of Seen that were killed.
func (s Secrets) removeProbes() {
	left, _ := filepath.Glob(filepath.Join(s.dir, ".seen.*")) // the pattern is valid
	for _, path := range left {
		_ = os.Remove(path) // it is in no one's way
	}
}

// Seen asks with a file that nobody else has whether somebody sees this place.
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

// both returns the names of the copies and the folder's files; neither where they are not of
// that folder.
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
