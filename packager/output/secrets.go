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

// SecretsDir is the folder of the secret values in an output folder.
const SecretsDir = "secrets"

// swarmName is the suffix of a secret's name in a Swarm, with a digest of the value it belongs to.
type swarmName struct {
	Suffix string `json:"suffix"`
	Digest string `json:"sha256"` // of the value
	// First is the suffix that the manifests had before the secret was rotated, or empty if it was not. It keeps the release
	// ID independent of rotations.
	First string `json:"first,omitempty"`
}

// Secrets are an application's secrets as targets need them.
type Secrets struct {
	External bool              // the secrets are external and have no values here
	Suffixes map[string]string // suffix of each secret's name; needed because secrets of a Swarm are immutable
}

// credentials are the values of an application's secrets.
type credentials struct {
	values    map[string]string
	names     map[string]swarmName
	authority string // the key that signs certificates; empty: there are none
}

// settle determines the value of each secret: the user's value, else the earlier one, else its initial value, else a generated
// one. A changed value gets a new suffix, because secrets of a Swarm are immutable.
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

// Password returns a random password.
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

// files returns the files of the secret values, the Swarm names, and curl's netrc file for the manager.
func (c credentials) files(plan *packager.Plan) ([]File, error) {
	names, err := json.MarshalIndent(c.names, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("cannot encode the names of secrets: %w", err)
	}
	var files []File
	for _, s := range plan.Secrets {
		// Containers with any user read it; the folder's mode protects it.
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

// Suffixes returns the suffixes of the secrets' names of an output folder. A suffix is random and changes with the value, so
// it identifies a value without revealing it.
func Suffixes(dir string) (map[string]string, error) {
	names, err := readNames(dir)
	return credentials{names: names}.secrets().Suffixes, err
}

// readCredentials reads the credentials that an earlier run wrote to an output folder.
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

// netrc returns curl's netrc file for the manager: --netrc-file secrets/netrc.
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

// netrcToken quotes a token if necessary. curl supports quoted tokens since 7.84.
func netrcToken(s string) string {
	if !strings.ContainsAny(s, " \t\"\\") {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// UsersFile returns the path of the file of the manager's users in an output folder.
func UsersFile(dir string) string { return filepath.Join(dir, SecretsDir, packager.ManagerUsers) }

// AuthorityFile returns the path of the authority's certificate in an output folder.
func AuthorityFile(dir string) string { return filepath.Join(dir, SecretsDir, packager.TLSAuthority) }

// CertificateFile returns the path of the user's own certificate of the manager's API in an output folder.
func CertificateFile(dir string) string {
	return filepath.Join(dir, SecretsDir, packager.ManagerCertificate)
}

// ManagerPassword reads the manager's password.
func ManagerPassword(dir string) (string, error) {
	password, err := PasswordIn(ManagerPasswordFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		secrets := filepath.Join(dir, SecretsDir)
		return "", fmt.Errorf("%w; if the application runs, its containers still have its secrets: on a single engine, `docker cp CONTAINER:/run/secrets/. %s` "+
			"gets them back from each container (docs/troubleshooting.md has the steps)", err, secrets)
	}
	return password, err
}

// ManagerPasswordFile returns the path of the manager's password in an output folder.
func ManagerPasswordFile(dir string) string {
	return filepath.Join(dir, SecretsDir, packager.ManagerPassword)
}

// PasswordIn reads the password in a file.
func PasswordIn(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("cannot read the manager's password: %w", err)
	}
	first, _, _ := strings.Cut(string(data), "\n") // during a rotation, the second line is the other valid password
	return strings.TrimRight(first, "\r"), nil
}
