package logs

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/toskose/toskose/unit/safepath"
)

// autoLength is the length of the random part of an AUTO log's name.
const autoLength = 10

// AutoFile creates the file of an AUTO log under a new name of Supervisor's form and returns its
// path. channel is stdout or stderr.
func AutoFile(dir, process, channel, identifier string) (string, error) {
	if err := safepath.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("cannot create the log of %s %s: %w", process, channel, err)
	}
	for {
		path := filepath.Join(dir, process+"-"+channel+"---"+identifier+"-"+rand.Text()[:autoLength]+".log")
		file, err := safepath.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("cannot create the log of %s %s: %w", process, channel, err)
		}
		return path, file.Close()
	}
}

// CleanAuto removes the AUTO logs and backups of an earlier run.
func CleanAuto(dir, identifier string) error {
	folder, err := safepath.Open(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	var entries []fs.DirEntry
	if err == nil {
		defer folder.Close()
		entries, err = folder.ReadDir(-1)
	}
	var errs []error
	if err != nil {
		errs = append(errs, fmt.Errorf("cannot clean the logs in %s: %w", dir, err))
	}
	auto := autoName(identifier)
	for _, entry := range entries {
		name := strings.TrimSuffix(strings.TrimSuffix(entry.Name(), thinnedSuffix), timesSuffix)
		if entry.Type().IsRegular() && auto.MatchString(name) {
			errs = append(errs, safepath.Remove(filepath.Join(dir, entry.Name())))
		}
	}
	return errors.Join(errs...)
}

// autoName matches the names of [AutoFile]'s files and of their rotated backups.
func autoName(identifier string) *regexp.Regexp {
	return regexp.MustCompile(`(?s)^.+---` + regexp.QuoteMeta(identifier) + `-[^ \t\n\f\r]+\.log\.?[0-9]{0,4}$`)
}
