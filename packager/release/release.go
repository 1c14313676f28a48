// Package release manages the releases of packaged folders: their IDs, the log of deployed releases, copies of deployed
// releases, and the differences between two releases. It accesses no engine or cluster and starts no goroutine.
package release

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"github.com/toskose/toskose/packager/output"
)

// ID returns the ID of the release in a folder: a digest of its manifests and toskose.yml. It does not depend on the values of
// secrets.
func ID(dir string) (string, error) {
	names, err := output.Files(dir)
	if err != nil {
		return "", err
	}
	if len(names) == 0 {
		return "", fmt.Errorf("%q has no manifests", dir)
	}
	packaged, err := output.AsPackaged(dir)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return "", fmt.Errorf("cannot read the release: %w", err)
		}
		if data, err = packaged(data); err != nil {
			return "", fmt.Errorf("cannot read the release: %q: %w", name, err)
		}
		fmt.Fprintf(sum, "%q %d\n", filepath.ToSlash(name), len(data))
		sum.Write(data)
	}
	return hex.EncodeToString(sum.Sum(nil)[:6]), nil
}

// digest returns a short digest that distinguishes versions of the same data.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6])
}
