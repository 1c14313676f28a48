// Package release knows what a folder that was packaged deploys: its id, what was
// deployed before it, copies of what was, and what differs between two. It asks no engine
// and no cluster, and starts no goroutine.
package release

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"github.com/toskose/toskose/packager/output"
)

// ID returns what tells a folder's release from others: a digest of its manifests and its
// toskose.yml. What secrets hold is no part of it.
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
		data = packaged(data)
		fmt.Fprintf(sum, "%q %d\n", filepath.ToSlash(name), len(data))
		sum.Write(data)
	}
	return hex.EncodeToString(sum.Sum(nil)[:6]), nil
}

// digest is short: it tells versions of one thing apart.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6])
}
