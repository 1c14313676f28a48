package folder

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"

	"github.com/toskose/toskose/edge"
)

// file is a file of a folder, by its name with slashes.
type file struct {
	name string
	data []byte
	mode fs.FileMode
}

// contents returns the files of a cluster. Encryption is random, so it keeps what dir has for the same token and key.
func contents(dir string, d edge.Document, token string) ([]file, error) {
	if err := edge.CheckPlugins(d.Nodes); err != nil {
		return nil, err
	}
	document, err := d.Encode()
	if err != nil {
		return nil, err
	}
	files := []file{{edge.DocumentFile, document, 0o644}}
	old, seals := readSeals(dir), map[string]string{}
	for _, n := range d.Nodes {
		text := d.TokenText(token)
		encrypted := encryptedBefore(dir, n.Name)
		if seal := sealOf(text, n.Key, encrypted); encrypted == "" || old[n.Name] != seal {
			if encrypted, err = encrypt(text, n.Key); err != nil {
				return nil, fmt.Errorf("cannot encrypt the token for %q: %w", n.Name, err)
			}
		}
		seals[n.Name] = sealOf(text, n.Key, encrypted)
		files = append(files, file{path.Join(nodesDir, n.Name+".json"), d.NodeFile(n, encrypted).Encode(), 0o644})
	}
	for _, n := range d.Networks {
		files = append(files, file{path.Join(networksDir, n.Name+".yaml"), n.Definition(), 0o644})
	}
	sealed, err := json.MarshalIndent(seals, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(files, file{tokenFile, []byte(token + "\n"), 0o600}, file{sealedFile, append(sealed, '\n'), 0o600}), nil
}

// encrypt returns a text in age's ASCII armor, for one key only.
func encrypt(text, key string) (string, error) {
	recipient, err := edge.ParseKey(key)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	armored := armor.NewWriter(&out)
	w, err := age.Encrypt(armored, recipient)
	if err != nil {
		return "", err
	}
	if _, err := io.WriteString(w, text); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	err = armored.Close()
	return out.String(), err
}

// sealOf returns a digest by which an encrypted token is recognised as the one for a token and a key.
func sealOf(token, key, encrypted string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{token, key, encrypted}, "\x00")))
	return hex.EncodeToString(sum[:])
}

// readSeals returns the seals by the names of the machines. Without them, the token is encrypted again.
func readSeals(dir string) map[string]string {
	var seals map[string]string
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(sealedFile)))
	if dir == "" || err != nil || json.Unmarshal(data, &seals) != nil {
		return nil
	}
	return seals
}

// encryptedBefore returns the encrypted token in the file of a machine, or "".
func encryptedBefore(dir, name string) string {
	if dir == "" {
		return ""
	}
	data, err := os.ReadFile(filepath.Join(dir, nodesDir, name+".json"))
	if err != nil {
		return ""
	}
	f, err := edge.ParseNodeFile(data)
	if err != nil {
		return ""
	}
	return f.Cluster.EncryptedToken
}

// differing returns the files that a folder does not have with the same content.
func differing(dir string, files []file) []file {
	var some []file
	for _, f := range files {
		if data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f.name))); err != nil || !bytes.Equal(data, f.data) {
			some = append(some, f)
		}
	}
	return some
}

// superfluous returns the names of files of machines and networks that the cluster no longer has.
func superfluous(dir string, files []file) []string {
	wanted := map[string]bool{}
	for _, f := range files {
		wanted[f.name] = true
	}
	var all []string
	for _, sub := range []string{nodesDir, networksDir} {
		entries, err := os.ReadDir(filepath.Join(dir, sub))
		if err != nil {
			continue // there are none
		}
		for _, e := range entries {
			name := path.Join(sub, e.Name())
			if ext := path.Ext(name); !wanted[name] && (ext == ".json" || ext == ".yaml") {
				all = append(all, name)
			}
		}
	}
	return all
}
