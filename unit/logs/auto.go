package logs

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/toskose/toskose/unit/safepath"
)

// autoLength is the length of the random part of an AUTO log's name.
const autoLength = 10

// AutoFile creates the file of an AUTO log under a new name, formed as Supervisor
// does, and returns its path. channel is stdout or stderr.
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

// CleanAuto removes the AUTO logs of an earlier run, rotated ones too.
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
	for _, entry := range entries {
		if entry.Type().IsRegular() && isAuto(entry.Name(), "---"+identifier+"-") {
			errs = append(errs, safepath.Remove(filepath.Join(dir, entry.Name())))
		}
	}
	return errors.Join(errs...)
}

// isAuto reports whether a name is one of AutoFile, or of its rotated backups.
// mark stands between the process's name and the random part. (Without regexp
// the binary is 100 KB smaller.)
func isAuto(name, mark string) bool {
	name = strings.TrimSuffix(strings.TrimSuffix(name, thinnedSuffix), timesSuffix)
	for i := 1; i < len(name); i++ {
		if !strings.HasPrefix(name[i:], mark) {
			continue
		}
		rest := name[i+len(mark):]
		base := strings.TrimRight(rest, "0123456789")
		const digits = 4
		if len(rest)-len(base) > digits {
			return false
		}
		random, ok := strings.CutSuffix(strings.TrimSuffix(base, "."), ".log")
		if ok && random != "" && !strings.ContainsAny(random, " \t\n\f\r") {
			return true
		}
	}
	return false
}
