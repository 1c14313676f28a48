package contexts

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"
)

// register adds the flags that a context is made of.
func (c *Context) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&c.Dir, "dir", "", "the folder `DIR` that the application was packaged in")
	flags.StringVar(&c.Manager, "manager", "", "the manager's `URL`")
	flags.StringVar(&c.User, "user", "", "the user's `NAME`")
	for _, file := range []struct {
		value       *string
		name, usage string
	}{
		{&c.PasswordFile, "password-file", "the `FILE` with the user's password"},
		{&c.TokenFile, "token-file", "a `FILE` with a token, instead of user and password"},
		{&c.CA, "ca", "the `FILE` with the certificate that has signed the manager's (default: the machine's trusted certificates)"},
		{&c.Cert, "cert", "the `FILE` with the user's certificate"},
		{&c.Key, "key", "the `FILE` with its key"},
	} {
		flags.StringVar(file.value, file.name, "", file.usage)
		_ = cmd.MarkFlagFilename(file.name) // the flag is there
	}
	flags.StringVar(&c.ServerName, "server-name", "", "the `NAME` that the manager's certificate is for (default: the URL's host)")
	_ = cmd.MarkFlagDirname("dir")
}

// complete checks a context and makes its paths absolute.
func (c *Context) complete() (err error) {
	login := c.User != "" && c.PasswordFile != "" || c.TokenFile != "" || c.Cert != ""
	switch {
	case c.Dir == "" && (c.Manager == "" || !login):
		return errors.New("a context has --dir or, without one, --manager, and --user with --password-file, --token-file, or --cert with --key")
	case (c.Cert == "") != (c.Key == ""):
		return errors.New("--cert and --key belong together: give both")
	case c.TokenFile != "" && c.PasswordFile != "":
		return errors.New("--token-file and --password-file exclude each other: give one")
	}
	if err := c.checkManager(); err != nil {
		return err
	}
	for _, path := range []*string{&c.Dir, &c.PasswordFile, &c.TokenFile, &c.CA, &c.Cert, &c.Key} {
		if *path != "" {
			if *path, err = filepath.Abs(*path); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Context) checkManager() error {
	if c.Manager == "" {
		return nil
	}
	at, err := url.Parse(c.Manager)
	switch {
	case err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https":
		return fmt.Errorf("--manager %q is not a URL such as http://10.0.0.7:10000", c.Manager)
	case at.User != nil:
		return errors.New("--manager has a user or password in it: give --user and --password-file")
	case at.Scheme == "http" && c.CA+c.Cert+c.ServerName != "":
		return errors.New("--ca, --cert, --key and --server-name are for a --manager that begins with https://")
	}
	return nil
}

// check verifies that the context's credentials are usable and that other users cannot read their
// files.
func (c *Context) check() error {
	at, err := c.Access()
	if err != nil {
		return err
	}
	if _, err := at.TLS(); err != nil {
		return err
	}
	if c.TokenFile != "" {
		if _, err := at.Token(); err != nil {
			return err
		}
	}
	for _, file := range []string{c.PasswordFile, c.TokenFile, c.Key} {
		if file == "" || runtime.GOOS == "windows" { // Windows has no such modes
			continue
		}
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			return fmt.Errorf("others may read %s: `chmod 600` it", file)
		}
	}
	return nil
}
