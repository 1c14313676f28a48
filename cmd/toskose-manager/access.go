package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/toskose/toskose/manager/access"
	"github.com/toskose/toskose/manager/users"
)

// readAccess reads the API's access rules from the files that the environment names.
func readAccess(getenv func(string) string) (access.Options, error) {
	var problems []error
	opts := access.Options{First: getenv("TOSKOSE_MANAGER_USER")}
	if opts.First == "" {
		problems = append(problems, errors.New("TOSKOSE_MANAGER_USER is not set"))
	}
	file := getenv("TOSKOSE_MANAGER_PASSWORD_FILE")
	if _, err := secret("TOSKOSE_MANAGER_PASSWORD_FILE", file); err != nil {
		problems = append(problems, err)
	}
	opts.Password = reading(file)
	if file := getenv("TOSKOSE_MANAGER_USERS_FILE"); file != "" {
		opts.Users = reading(file)
	}
	if file := getenv("SECRET_KEY_FILE"); file != "" {
		if _, err := secret("SECRET_KEY_FILE", file); err != nil {
			problems = append(problems, err)
		}
		opts.SecretKey = reading(file)
	}
	return opts, errors.Join(problems...)
}

// reading reads a file whenever it is called, and no more of it than it may have.
func reading(file string) func() ([]byte, error) {
	return func() ([]byte, error) {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return io.ReadAll(io.LimitReader(f, users.MaxFile+1))
	}
}

// openAudit opens the audit log. By default it goes to standard output, which contains nothing
// else; the log goes to standard error.
func openAudit(where string, out, logs io.Writer) (w io.Writer, done func(), err error) {
	switch where {
	case "", "stdout":
		return out, func() {}, nil
	case "stderr":
		return logs, func() {}, nil
	}
	f, err := os.OpenFile(where, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("TOSKOSE_AUDIT_LOG: cannot open the audit log: %w", err)
	}
	return f, func() { _ = f.Close() }, nil
}
