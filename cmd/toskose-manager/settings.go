package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/manager/access"
	"github.com/toskose/toskose/manager/discovery"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/tosca"
)

const usage = `usage: toskose-manager [--app FILE] [--config FILE] [--version] [serve|health]

serve   serves the API on TOSKOSE_MANAGER_PORT (the default)
health  asks the manager that serves on TOSKOSE_MANAGER_PORT; exits 0 if it works, else 1

The log goes to the standard error. The audit log, JSON lines of who did what and
who was refused, goes to the standard output, or where TOSKOSE_AUDIT_LOG says:
stdout, stderr or a FILE.
`

// paths are the files that the manager reads: two of its image, and how its
// container resolves names.
type paths struct{ app, config, resolver string }

// settings is what the environment and the files that it names say.
type settings struct {
	port      int
	testing   bool
	mode      discovery.Mode
	discovery discovery.Options
	units     *unitFiles // of TLS with units; nil: they are spoken to in the clear
	door      *doorFiles // of the API's own TLS; nil: it is served in the clear
	access    access.Options
	audit     string // where the audit log goes
	app       tosca.Application
	config    config.Config
	passwords *passwords        // of units
	digests   map[string]string // of their configurations, by node; none: not known
}

// readSettings reports everything that is missing or wrong, not only the first problem.
func readSettings(files paths, getenv func(string) string) (*settings, error) {
	s := &settings{audit: getenv("TOSKOSE_AUDIT_LOG"), passwords: newPasswords(getenv("TOSKOSE_SECRETS"))}
	var problems []error
	note := func(err error) {
		if err != nil {
			problems = append(problems, err)
		}
	}
	var err error
	s.port, err = port(getenv)
	note(err)
	s.testing, err = testingMode(getenv("TOSKOSE_APP_MODE"))
	note(err)
	note(s.readDiscovery(getenv, files.resolver))
	s.units, err = readTLS(getenv)
	note(err)
	s.door, err = readDoor(getenv)
	note(err)
	s.access, err = readAccess(getenv)
	note(err)
	note(readApp(files.app, &s.app))
	note(readConfig(files.config, &s.config))
	note(s.readDigests(filepath.Join(filepath.Dir(files.app), "digests.json")))
	note(s.passwords.readAll(&s.app))
	return s, errors.Join(problems...)
}

func port(getenv func(string) string) (int, error) {
	text := getenv("TOSKOSE_MANAGER_PORT")
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 65535 {
		return 0, fmt.Errorf("TOSKOSE_MANAGER_PORT: %q is not a port", text)
	}
	return n, nil
}

func testingMode(mode string) (bool, error) {
	switch mode {
	case "testing":
		return true, nil
	case "", "production":
		return false, nil
	}
	return false, fmt.Errorf("TOSKOSE_APP_MODE: %q is neither production nor testing", mode)
}

// secret reads a file with one secret. A line end after it is not part of it.
func secret(variable, file string) (string, error) {
	if file == "" {
		return "", fmt.Errorf("%s is not set", variable)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("%s: cannot read the secret: %w", variable, err)
	}
	value := strings.TrimRight(string(data), "\r\n")
	if value == "" {
		return "", fmt.Errorf("%s: %s is empty", variable, file)
	}
	return value, nil
}

func readApp(file string, app *tosca.Application) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("cannot read the application: %w", err)
	}
	return wrap(file, json.Unmarshal(data, app))
}

// readDigests reads what the packager says of the units' configurations. A model that
// was put there by hand has none.
func (s *settings) readDigests(file string) error {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read the digests of units: %w", err)
	}
	return wrap(file, json.Unmarshal(data, &s.digests))
}

func readConfig(file string, conf *config.Config) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("cannot read the configuration: %w", err)
	}
	return wrap(file, yaml.Unmarshal(data, conf))
}

func wrap(subject string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", subject, err)
}
