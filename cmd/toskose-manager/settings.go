package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/toskose/toskose/manager/access"
	"github.com/toskose/toskose/manager/discovery"
	"github.com/toskose/toskose/manager/legacy"
	"github.com/toskose/toskose/spec"
)

const usage = `usage: toskose-manager [--app FILE | --attach NAME,…] [--version] [serve|health]

serve   serves the API on TOSKOSE_MANAGER_PORT (the default)
health  asks the manager that serves on TOSKOSE_MANAGER_PORT; exits 0 if it works, else 1

--app FILE  the application, as toskose inspect -o json prints it, with the units of
            its nodes; default: /toskose/manager/app.json
--attach NAME,NAME…
            instead of --app: the application has the containers with these names on
            the network, with the programs of their units as components. A unit
            serves at port 9001, with the user admin and the password in the file
            NAME-password of the folder that TOSKOSE_SECRETS names

The log goes to the standard error. The audit log, JSON lines of who did what and
who was refused, goes to the standard output, or where TOSKOSE_AUDIT_LOG says:
stdout, stderr or a FILE.
`

// paths are the files that the manager reads: the application, and how its container
// resolves names. attach has the names of containers that are the application instead.
type paths struct{ app, attach, resolver string }

// settings holds the settings read from the environment and from the files that it names.
type settings struct {
	port      int
	testing   bool
	mode      discovery.Mode
	discovery discovery.Options
	units     *unitFiles // of TLS with units; nil: they are spoken to in the clear
	tls       *serverTLS // of the API's own TLS; nil: it is served in the clear
	access    access.Options
	audit     string // destination of the audit log
	app       *spec.Application
	passwords *passwords // of units
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
	s.tls, err = readServerTLS(getenv)
	note(err)
	s.access, err = readAccess(getenv)
	note(err)
	if s.app, err = application(files); err == nil {
		err = s.passwords.readAll(s.app)
	}
	note(err)
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

// application returns the application that the manager serves.
func application(files paths) (*spec.Application, error) {
	if files.attach == "" {
		return readApp(files.app)
	}
	app, err := attached(strings.Split(files.attach, ","))
	return app, wrap("--attach "+files.attach, err)
}

// readApp reads the document of the application, written by any program, and validates it.
func readApp(file string) (*spec.Application, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read the application: %w", err)
	}
	if legacy.IsDocument(data) {
		app, err := readLegacy(data, filepath.Dir(file))
		return app, wrap("cannot read the application of an earlier release in "+file, err)
	}
	app, err := spec.Decode(data)
	return app, wrap("cannot read the application in "+file, err)
}

// readLegacy reads the application with the other files of an earlier release's image.
func readLegacy(document []byte, folder string) (*spec.Application, error) {
	config, err := os.ReadFile(filepath.Join(folder, "toskose.yml"))
	if err != nil {
		return nil, fmt.Errorf("it has no format, and %w: package the application again with this version of toskose", err)
	}
	digests, err := os.ReadFile(filepath.Join(folder, "digests.json"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return legacy.Decode(document, config, digests)
}

func wrap(subject string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", subject, err)
}
