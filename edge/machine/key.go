package machine

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"
	"filippo.io/age/plugin"

	"github.com/toskose/toskose/edge"
)

// Key returns the public key of the machine, and makes the key if there is none.
func Key(path string) (public string, made bool, err error) {
	data, err := os.ReadFile(path)
	if err == nil {
		public, err = publicKey(path, data)
		return public, false, err
	}
	if !missing(err) {
		return "", false, fmt.Errorf("cannot read the machine's key: %w", err)
	}
	id, err := age.GenerateX25519Identity()
	if err != nil {
		return "", false, fmt.Errorf("cannot make a key: %w", err)
	}
	public = id.Recipient().String()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // others may use the folder; the key has mode 0600
		return "", false, fmt.Errorf("cannot write the machine's key: %w", err)
	}
	if err := writeFile(path, fmt.Appendf(nil, "# public key: %s\n%s\n", public, id), 0o600); err != nil {
		return "", false, fmt.Errorf("cannot write the machine's key: %w", err)
	}
	return public, true, nil
}

// commented matches the comment in which age-keygen and plugins write the public key.
var commented = regexp.MustCompile(`(?im)^#\s*(?:public key|recipient):\s*(age1\S+)\s*$`)

func publicKey(path string, data []byte) (string, error) {
	ids, err := identities(data)
	if err != nil {
		return "", fmt.Errorf("%s is not the key of a machine: %w", path, err)
	}
	switch id := ids[0].(type) {
	case *age.X25519Identity:
		return id.Recipient().String(), nil
	case *age.HybridIdentity:
		return id.Recipient().String(), nil
	}
	if m := commented.FindSubmatch(data); m != nil {
		return string(m[1]), nil
	}
	return "", fmt.Errorf("%s has the key of a plugin without a comment such as `# public key: age1…`: its plugin prints the public key", path)
}

// identities reads a file with private keys of age or of its plugins.
func identities(data []byte) ([]age.Identity, error) {
	var all []age.Identity
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.HasPrefix(line, "AGE-PLUGIN-") {
			id, err := plugin.NewIdentity(line, &plugin.ClientUI{})
			if err != nil {
				return nil, err
			}
			all = append(all, id)
			continue
		}
		ids, err := age.ParseIdentities(strings.NewReader(line))
		if err != nil {
			return nil, errors.New("a line is not a private key of age")
		}
		all = append(all, ids...)
	}
	if len(all) == 0 {
		return nil, errors.New("it has no private key")
	}
	return all, lines.Err()
}

// tokenForm matches the tokens that a folder encrypts.
var tokenForm = regexp.MustCompile(`^(K10[0-9a-f]{64}::server:)?[0-9a-f]{64}$`)

// decrypt returns the token in a node file.
func (o Options) decrypt(f edge.NodeFile) (string, error) {
	path := o.path(o.Key)
	data, err := os.ReadFile(path)
	if missing(err) {
		return "", fmt.Errorf("this machine has no key (%w): `toskose cluster key` makes one, for the cluster's document", err)
	}
	if err != nil {
		return "", fmt.Errorf("cannot read the machine's key: %w", err)
	}
	ids, err := identities(data)
	if err != nil {
		return "", fmt.Errorf("%s is not the key of a machine: %w", path, err)
	}
	r, err := age.Decrypt(armor.NewReader(strings.NewReader(f.Cluster.EncryptedToken)), ids...)
	var other *age.NoIdentityMatchError
	if errors.As(err, &other) {
		return "", fmt.Errorf("the token for %q was not encrypted to the key in %s: the file is another machine's, or the cluster has another key of this one", f.Name, path)
	}
	if err != nil {
		return "", fmt.Errorf("cannot decrypt the token for %q: %w", f.Name, err)
	}
	text, err := io.ReadAll(io.LimitReader(r, 1024))
	if err != nil {
		return "", fmt.Errorf("cannot decrypt the token for %q: %w", f.Name, err)
	}
	if !tokenForm.Match(text) {
		return "", fmt.Errorf("the text encrypted for %q is not a token", f.Name)
	}
	return string(text), nil
}

// secretOf returns a token without the digest of the certificate authority, which may be added to it later.
func secretOf(token string) string {
	token = strings.TrimSpace(token)
	if _, secret, ok := strings.Cut(token, "::server:"); ok {
		return secret
	}
	return token
}

// digest identifies a token without disclosing it.
func digest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
