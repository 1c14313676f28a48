package output

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/config"
)

// SecretsDir is the folder of the secrets' values, in an output folder.
const SecretsDir = "secrets"

// swarmName is what a Swarm calls a secret with a certain value.
type swarmName struct {
	Suffix string `json:"suffix"`
	Digest string `json:"sha256"` // of the value
	// First is the suffix that manifests had before the value was replaced while the application
	// ran: what secrets hold tells no release from another. Empty: it was not.
	First string `json:"first,omitempty"`
}

// Secrets are an application's secrets as a target names them.
type Secrets struct {
	External bool              // somebody else makes them; there are no values
	Suffixes map[string]string // what ends the name of each, because a Swarm's secret cannot change
}

// credentials are the values of an application's secrets.
type credentials struct {
	values    map[string]string
	names     map[string]swarmName
	authority string // the key that signs certificates; empty: there are none
}

// settle sets each secret to the user's value, else the one it had, else what it
// begins with, else a new one. A Swarm secret cannot change, so its name does when the value differs.
func settle(secrets []packager.Secret, old credentials, random io.Reader, today time.Time) (credentials, error) {
	now := credentials{values: map[string]string{}, names: map[string]swarmName{}}
	certificates, err := certify(secrets, old.values, today)
	if err != nil {
		return credentials{}, err
	}
	now.authority = certificates[packager.TLSAuthorityFile]
	for _, s := range secrets {
		value := s.Given
		if s.TLS != nil {
			value = certificates[s.Name]
		}
		if value == "" {
			value = cmp.Or(old.values[s.Name], s.Begin)
		}
		if value == "" {
			if value, err = Password(random); err != nil {
				return credentials{}, err
			}
		}
		sum := sha256.Sum256([]byte(value))
		name := swarmName{Suffix: old.names[s.Name].Suffix, Digest: hex.EncodeToString(sum[:]), First: old.names[s.Name].First}
		if name.Suffix == "" || name.Digest != old.names[s.Name].Digest {
			drawn, err := draw(random, 4)
			if err != nil {
				return credentials{}, err
			}
			name.Suffix, name.First = hex.EncodeToString(drawn), ""
		}
		now.values[s.Name], now.names[s.Name] = value, name
	}
	return now, nil
}

// Password draws one.
func Password(random io.Reader) (string, error) {
	drawn, err := draw(random, 25)
	return strings.ToLower(base32.StdEncoding.EncodeToString(drawn)), err
}

func draw(random io.Reader, n int) ([]byte, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(random, b); err != nil {
		return nil, fmt.Errorf("cannot draw random bytes: %w", err)
	}
	return b, nil
}

func (c credentials) secrets() Secrets {
	out := Secrets{Suffixes: map[string]string{}}
	for name, n := range c.names {
		out.Suffixes[name] = n.Suffix
	}
	return out
}

// files are the secrets' values, the names that Swarm has for them, and curl's
// way to log in at the manager.
func (c credentials) files(plan *packager.Plan) ([]File, error) {
	names, err := json.MarshalIndent(c.names, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("cannot encode the names of secrets: %w", err)
	}
	var files []File
	for _, s := range plan.Secrets {
		// Read by containers of any user; it is the folder that protects them.
		files = append(files, File{filepath.Join(SecretsDir, s.Name), 0o644, []byte(c.values[s.Name])})
	}
	if c.authority != "" {
		files = append(files, File{filepath.Join(SecretsDir, packager.TLSAuthorityFile), 0o600, []byte(c.authority)})
	}
	login := netrc(plan.Config.Manager.User, c.values[packager.ManagerPassword], config.Host(plan.Config.Manager.Bind), plan.ManagerName())
	return append(files,
		File{filepath.Join(SecretsDir, packager.SecretNamesFile), 0o600, append(names, '\n')},
		File{filepath.Join(SecretsDir, packager.NetrcFile), 0o600, []byte(login)},
	), nil
}

func readNames(dir string) (map[string]swarmName, error) {
	names := map[string]swarmName{}
	data, err := os.ReadFile(filepath.Join(dir, SecretsDir, packager.SecretNamesFile))
	if err == nil {
		err = json.Unmarshal(data, &names)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the names of secrets: %w", err)
	}
	return names, nil
}

// Suffixes returns what ends the names of the secrets of an output folder. It is random,
// and another where the value is another: so it tells values apart without telling of them.
func Suffixes(dir string) (map[string]string, error) {
	names, err := readNames(dir)
	return credentials{names: names}.secrets().Suffixes, err
}

// readCredentials reads what an earlier run left in an output folder.
func readCredentials(dir string, secrets []packager.Secret) (credentials, error) {
	old := credentials{values: map[string]string{}}
	var err error
	if old.names, err = readNames(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return credentials{}, err
	}
	names := []string{packager.TLSAuthorityFile}
	for _, s := range secrets {
		names = append(names, s.Name)
	}
	for _, name := range names {
		value, err := os.ReadFile(filepath.Join(dir, SecretsDir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return credentials{}, fmt.Errorf("cannot read the secret: %w", err)
		}
		old.values[name] = strings.TrimRight(string(value), "\r\n")
	}
	return old, nil
}

// netrc lets curl log in at the manager: --netrc-file secrets/netrc.
func netrc(user, password string, machines ...string) string {
	machines = append([]string{"localhost", "127.0.0.1"}, machines...)
	var b strings.Builder
	for i, machine := range machines {
		if slices.Contains(machines[:i], machine) {
			continue
		}
		fmt.Fprintf(&b, "machine %s login %s password %s\n", machine, netrcToken(user), netrcToken(password))
	}
	return b.String()
}

// netrcToken quotes what would not be one token; curl reads that from 7.84 on.
func netrcToken(s string) string {
	if !strings.ContainsAny(s, " \t\"\\") {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// UsersFile is the file of the manager's users, in an output folder.
func UsersFile(dir string) string { return filepath.Join(dir, SecretsDir, packager.ManagerUsers) }

// AuthorityFile is the certificate that has signed all others, in an output folder.
func AuthorityFile(dir string) string { return filepath.Join(dir, SecretsDir, packager.TLSAuthority) }

// CertificateFile is the user's certificate of the manager's API, in an output folder.
func CertificateFile(dir string) string {
	return filepath.Join(dir, SecretsDir, packager.ManagerCertificate)
}

// ManagerPassword reads the password that was given to the manager or generated
// for it.
func ManagerPassword(dir string) (string, error) { return PasswordIn(ManagerPasswordFile(dir)) }

// ManagerPasswordFile is where that is.
func ManagerPasswordFile(dir string) string {
	return filepath.Join(dir, SecretsDir, packager.ManagerPassword)
}

// PasswordIn reads the password of a file.
func PasswordIn(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("cannot read the manager's password: %w", err)
	}
	first, _, _ := strings.Cut(string(data), "\n") // there is another while it is replaced
	return strings.TrimRight(first, "\r"), nil
}
