package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// copyItself copies the binary of this process to a file, which must not be in use.
func copyItself(args []string, s system) int {
	if len(args) != 1 || strings.HasPrefix(args[0], "-") {
		fmt.Fprintln(s.stderr, "toskose-unit copy: needs one FILE; see toskose-unit --help")
		return exitConfig
	}
	if err := copyTo(args[0]); err != nil {
		fmt.Fprintf(s.stderr, "toskose-unit: cannot copy the unit: %v\n", err)
		return exitFailed
	}
	return exitOK
}

// copyTo writes the file under another name first: the init container of a pod may run again.
func copyTo(file string) (err error) {
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer self.Close()
	next, err := os.OpenFile(file+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o755) //nolint:gosec // all users of a container run it
	if err != nil {
		return err
	}
	_, err = io.Copy(next, self)
	if err = errors.Join(err, next.Chmod(0o755), next.Close()); err != nil {
		return errors.Join(err, os.Remove(next.Name()))
	}
	return os.Rename(next.Name(), file)
}
