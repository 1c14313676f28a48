// Package contexts stores named managers, with their addresses and credentials, in files of the
// user, so that commands find an application from any folder.
package contexts

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/packager/deploy/backend"
)

// Context defines access to a manager.
type Context struct {
	// Dir is the folder that its application was packaged in. It provides the defaults of the
	// other fields.
	Dir          string `yaml:"dir,omitempty" json:"dir,omitempty"`
	Manager      string `yaml:"manager,omitempty" json:"manager,omitempty"` // URL
	User         string `yaml:"user,omitempty" json:"user,omitempty"`
	PasswordFile string `yaml:"password_file,omitempty" json:"password_file,omitempty"`
	TokenFile    string `yaml:"token_file,omitempty" json:"token_file,omitempty"` // in the place of user and password

	// With TLS: PEM files, of the manager's authorities, and of the user's certificate,
	// which may be in the place of a password, too.
	CA   string `yaml:"ca,omitempty" json:"ca,omitempty"`
	Cert string `yaml:"cert,omitempty" json:"cert,omitempty"`
	Key  string `yaml:"key,omitempty" json:"key,omitempty"`
	// ServerName is the name in the manager's certificate, if it differs from the URL's host.
	ServerName string `yaml:"server_name,omitempty" json:"server_name,omitempty"`
}

// Access returns the manager's address and the credentials for it.
func (c Context) Access() (at backend.Access, err error) {
	if c.Dir != "" {
		if at, err = backend.AccessOf(c.Dir); err != nil {
			return at, err
		}
	}
	at.Address, at.User = cmp.Or(c.Manager, at.Address), cmp.Or(c.User, at.User)
	at.TokenFile, at.ClientCertificate, at.ClientKey = c.TokenFile, c.Cert, c.Key
	if c.CA != "" {
		at.Authority, at.Certificate, at.Name = c.CA, "", ""
	}
	at.Name = cmp.Or(c.ServerName, at.Name)
	if c.PasswordFile != "" {
		text, err := os.ReadFile(c.PasswordFile)
		if err != nil {
			return at, fmt.Errorf("cannot read the manager's password: %w", err)
		}
		at.Password, at.PasswordFile = strings.TrimRight(string(text), "\r\n"), c.PasswordFile
	}
	return at, nil
}

// Store is the folder of a user's contexts: one file for each, so that concurrent commands do not
// overwrite each other's changes, and one file for each terminal session with the name that it selected.
type Store struct{ dir, session string }

// Find returns the store of a process with an environment, which need not exist yet.
// It is where os.UserConfigDir would have it.
func Find(environ []string) (Store, error) {
	dir, err := folder(environ)
	return Store{dir, sessionName()}, err
}

func folder(environ []string) (string, error) {
	if dir := variable(environ, "TOSKOSE_CONFIG"); dir != "" {
		return dir, nil
	}
	home, roaming, config := variable(environ, "HOME"), variable(environ, "AppData"), variable(environ, "XDG_CONFIG_HOME")
	switch {
	case runtime.GOOS == "windows" && roaming != "":
		return filepath.Join(roaming, "toskose"), nil
	case runtime.GOOS == "darwin" && home != "":
		return filepath.Join(home, "Library", "Application Support", "toskose"), nil
	case filepath.IsAbs(config):
		return filepath.Join(config, "toskose"), nil
	case home != "":
		return filepath.Join(home, ".config", "toskose"), nil
	}
	return "", errors.New("cannot find a folder for contexts: set TOSKOSE_CONFIG to one")
}

// Mounted returns the folder whose secrets the containers of this user's applications mount on a
// single engine, or "" if there is no configuration folder.
func Mounted(environ []string) string {
	store, err := Find(environ)
	if err != nil {
		return ""
	}
	return filepath.Join(store.dir, "mounted")
}

// variable returns the value of an environment variable. As in os/exec, the last definition wins.
func variable(environ []string, name string) string {
	for _, pair := range slices.Backward(environ) {
		if key, value, _ := strings.Cut(pair, "="); key == name || runtime.GOOS == "windows" && strings.EqualFold(key, name) {
			return value
		}
	}
	return ""
}

// The errors of names.
var (
	ErrUnknown = errors.New("there is no such context")
	ErrNone    = errors.New("no context is selected")
	ErrName    = errors.New("a context's name has letters, digits, dots, dashes and underscores, at most 100, and begins with one of the first two")
)

var named = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

const extension = ".yaml"

func (s Store) file(name string) (string, error) {
	if !named.MatchString(name) {
		return "", fmt.Errorf("%w, not %q", ErrName, name)
	}
	return filepath.Join(s.dir, "contexts", name+extension), nil
}

// Names returns the names of all contexts, sorted.
func (s Store) Names() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, "contexts"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot read the contexts: %w", err)
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		if name, is := strings.CutSuffix(e.Name(), extension); is && named.MatchString(name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// Get returns the context of a name.
func (s Store) Get(name string) (c Context, err error) {
	file, err := s.file(name)
	if err != nil {
		return c, err
	}
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c, s.unknown(name)
	case err != nil:
		return c, fmt.Errorf("cannot read context %q: %w", name, err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&c); err != nil {
		return c, fmt.Errorf("context %q in %s is not as it should be: %w", name, file, err)
	}
	return c, nil
}

func (s Store) unknown(name string) error {
	names, _ := s.Names() // without them, there is less to say
	if len(names) == 0 {
		return fmt.Errorf("%w: %q; `toskose deploy` makes one for each application, and `toskose context create` any other", ErrUnknown, name)
	}
	return fmt.Errorf("%w: %q; there are %s", ErrUnknown, name, strings.Join(names, ", "))
}

// Put makes or replaces a context.
func (s Store) Put(name string, c Context) error {
	file, err := s.file(name)
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(c)
	if err == nil {
		err = write(file, text)
	}
	if err != nil {
		return fmt.Errorf("cannot keep context %q: %w", name, err)
	}
	return nil
}

// Remove removes a context, and no session has it selected any longer.
func (s Store) Remove(name string) error {
	file, err := s.file(name)
	if err != nil {
		return err
	}
	err = os.Remove(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s.unknown(name)
	case err != nil:
		return fmt.Errorf("cannot remove context %q: %w", name, err)
	}
	if err := s.leave(name); err != nil {
		return fmt.Errorf("cannot leave context %q: %w", name, err)
	}
	return nil
}

// write replaces a file atomically. Other users cannot read it: it contains the paths of
// passwords.
func write(file string, text []byte) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	next, err := os.CreateTemp(dir, ".next-*") // of mode 0600
	if err != nil {
		return err
	}
	_, err = next.Write(text)
	if err = cmp.Or(err, next.Close()); err == nil {
		err = os.Rename(next.Name(), file)
	}
	if err != nil {
		_ = os.Remove(next.Name()) // the first error is more useful
	}
	return err
}
