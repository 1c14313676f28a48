package release

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/output"
)

// KeptDir is the folder with copies of deployed releases, in an output folder, so that packaging again into the folder does
// not lose the previous release. It contains secrets, so only its owner can read it.
const KeptDir = "releases"

// logsFile in KeptDir contains the logs of engines that do not store them, by engine ID.
const logsFile = "deployed.json"

// keptOf returns the path of the copy of a release in a folder.
func keptOf(dir, id string) string { return filepath.Join(dir, KeptDir, id) }

// Keep copies the release in a folder, including its secrets, for [Return].
func Keep(dir, id string) error {
	names, err := output.Files(dir)
	if err != nil {
		return err
	}
	secrets, err := fs.Glob(os.DirFS(dir), output.SecretsDir+"/*")
	if err != nil {
		return err
	}
	if _, err := output.MakeFolder(filepath.Join(dir, KeptDir), 0o700); err != nil {
		return fmt.Errorf("cannot keep the release: %w", err)
	}
	for _, name := range append(names, secrets...) {
		if filepath.Base(name) == packager.RotationFile {
			continue
		}
		if err := copyFile(filepath.Join(keptOf(dir, id), name), filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("cannot keep the release: %w", err)
		}
	}
	return nil
}

// goalFile contains the goal of the application at the time the release was replaced.
const goalFile = "goal.json"

// KeepGoal stores a goal with the copy of a record's release. A nil goal removes the stored one.
func KeepGoal(r Record, goal []byte) error {
	dir := keptOf(r.Folder, r.Release)
	if _, err := os.Stat(dir); err != nil {
		return nil //nolint:nilerr // it was deployed from elsewhere
	}
	if goal == nil {
		err := os.Remove(filepath.Join(dir, goalFile))
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	}
	return write(filepath.Join(dir, goalFile), 0o600, goal)
}

// Goal returns the goal stored with a record's release, or nil.
func Goal(r Record) []byte {
	goal, err := os.ReadFile(filepath.Join(keptOf(r.Folder, r.Release), goalFile))
	if err != nil {
		return nil
	}
	return goal
}

// Forget removes the copies of releases that are no longer in any log.
func Forget(dir string, log Log) error {
	kept, err := os.ReadDir(filepath.Join(dir, KeptDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, k := range kept {
		if _, ok := log.Find(k.Name()); k.IsDir() && !ok {
			if err := os.RemoveAll(keptOf(dir, k.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// Find returns the folder with the files of a record's release: the record's folder or, if it now contains another release,
// the copy in it.
func Find(r Record) (dir string, err error) {
	for _, dir := range []string{r.Folder, keptOf(r.Folder, r.Release)} {
		if id, err := ID(dir); err == nil && id == r.Release {
			return dir, nil
		}
	}
	if _, err := os.Stat(r.Folder); err != nil {
		return "", fmt.Errorf("release %s was deployed from %q by %s, and cannot be read there: %w", r.Release, r.Folder, r.By, err)
	}
	id, err := ID(r.Folder)
	if err != nil {
		return "", fmt.Errorf("release %s was deployed from %q by %s, and cannot be read there: %w", r.Release, r.Folder, r.By, err)
	}
	return "", fmt.Errorf("release %s was deployed from %q by %s, which holds release %s now, and no copy of it", r.Release, r.Folder, r.By, id)
}

// Return restores a record's release in its folder, and returns the folder. Secrets belong to the application, not the
// release: only missing ones are restored, and the others are updated in the copy.
func Return(r Record) (dir string, err error) {
	from, err := Find(r)
	if err != nil || from == r.Folder {
		return r.Folder, err
	}
	if err := output.UpdateCopy(from, r.Folder); err != nil {
		return "", fmt.Errorf("cannot return to release %s: %w", r.Release, err)
	}
	was, err := output.Files(r.Folder)
	if err != nil {
		return "", err
	}
	now, err := output.Files(from)
	if err != nil {
		return "", err
	}
	for _, name := range now {
		if err := copyFile(filepath.Join(r.Folder, name), filepath.Join(from, name)); err != nil {
			return "", fmt.Errorf("cannot return to release %s: %w", r.Release, err)
		}
	}
	for _, name := range was {
		if !slices.Contains(now, name) {
			if err := os.Remove(filepath.Join(r.Folder, name)); err != nil {
				return "", fmt.Errorf("cannot return to release %s: %w", r.Release, err)
			}
		}
	}
	return r.Folder, returnSecrets(r.Folder, from)
}

func returnSecrets(dir, from string) error {
	names, err := fs.Glob(os.DirFS(from), output.SecretsDir+"/*")
	if err != nil {
		return err
	}
	for _, name := range names {
		to := filepath.Join(dir, name)
		if _, err := os.Lstat(to); err == nil {
			continue
		}
		if err := copyFile(to, filepath.Join(from, name)); err != nil {
			return fmt.Errorf("cannot return a secret: %w", err)
		}
	}
	return returnNames(filepath.Join(dir, output.SecretsDir), filepath.Join(from, output.SecretsDir))
}

// returnNames restores the Swarm names of secrets that the restored manifests refer to.
func returnNames(dir, from string) error {
	var now, then map[string]json.RawMessage
	for path, names := range map[string]*map[string]json.RawMessage{dir: &now, from: &then} {
		data, err := os.ReadFile(filepath.Join(path, packager.SecretNamesFile))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			err = json.Unmarshal(data, names)
		}
		if err != nil {
			return fmt.Errorf("cannot read the names of secrets: %w", err)
		}
	}
	changed := false
	for name, value := range then {
		changed = changed || !bytes.Equal(now[name], value)
		now[name] = value
	}
	if !changed {
		return nil
	}
	data, err := json.MarshalIndent(now, "", "  ")
	if err != nil {
		return err
	}
	return write(filepath.Join(dir, packager.SecretNamesFile), 0o600, append(data, '\n'))
}

// ReadLog returns the log of an engine that does not store it, from the folder that the application was deployed from.
func ReadLog(dir, engine string) Log { return readLogs(dir)[engine] }

// ByCompose reports whether a folder was deployed on an engine with Compose; on any engine if engine is empty.
func ByCompose(dir, engine string) bool {
	logs := readLogs(dir)
	if engine == "" {
		return len(logs) > 0
	}
	return len(logs[engine]) > 0
}

func readLogs(dir string) map[string]Log {
	logs := map[string]Log{}
	data, err := os.ReadFile(filepath.Join(dir, KeptDir, logsFile))
	if err != nil || json.Unmarshal(data, &logs) != nil {
		return map[string]Log{}
	}
	return logs
}

// WriteLog writes the log of an engine that does not store it. An empty log is removed.
func WriteLog(dir, engine string, log Log) error {
	if _, err := os.Stat(filepath.Join(dir, KeptDir)); err != nil && len(log) == 0 {
		return nil
	}
	logs := readLogs(dir)
	logs[engine] = log
	if len(log) == 0 {
		delete(logs, engine)
	}
	data, err := json.MarshalIndent(logs, "", "  ")
	if err != nil {
		return err
	}
	if _, err := output.MakeFolder(filepath.Join(dir, KeptDir), 0o700); err != nil {
		return fmt.Errorf("cannot write the log of releases: %w", err)
	}
	return write(filepath.Join(dir, KeptDir, logsFile), 0o600, append(data, '\n'))
}

// copyFile copies a file with its mode. It does not touch an identical file, because containers may mount it.
func copyFile(to, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if have, err := os.ReadFile(to); err == nil && string(have) == string(data) {
		return nil
	}
	mode := fs.FileMode(0o755)
	if filepath.Base(filepath.Dir(to)) == output.SecretsDir {
		mode = 0o700
	}
	if _, err := output.MakeFolder(filepath.Dir(to), mode); err != nil {
		return err
	}
	return write(to, info.Mode().Perm(), data)
}

func write(path string, mode fs.FileMode, data []byte) error {
	staged, err := output.Stage(path, mode, func(f *os.File) error {
		_, err := f.Write(data)
		return err
	})
	if err != nil {
		return err
	}
	return os.Rename(staged, path)
}
