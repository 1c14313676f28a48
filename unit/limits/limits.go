// Package limits raises the soft limits that children inherit, for the settings minfds and
// minprocs. It starts no goroutine.
package limits

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/toskose/toskose/unit/limits/original"
)

// Raise raises the soft limits of open files and of processes to the given minimum, for this
// process and its children. Higher limits are kept. If the hard limit is lower and cannot be
// raised, the soft limit is set to it and an error is returned.
//
// The Go runtime raises this process's limit of open files to the hard one, and children get the
// original one. Raise changes neither unless the original is too low; then both become minFDs.
func Raise(minFDs, minProcs int) error {
	var processes syscall.Rlimit
	if err := syscall.Getrlimit(unix.RLIMIT_NPROC, &processes); err != nil {
		return fmt.Errorf("cannot read the limit of processes: %w", err)
	}
	return errors.Join(
		raise("minfds", unix.RLIMIT_NOFILE, original.Files(), uint64(minFDs)),
		raise("minprocs", unix.RLIMIT_NPROC, processes.Cur, uint64(minProcs)))
}

// raise raises a limit whose soft value is too low for children. After Setrlimit, the runtime does
// not restore the original limit in children.
func raise(key string, resource int, soft, least uint64) error {
	if soft >= least {
		return nil
	}
	var now syscall.Rlimit
	if err := syscall.Getrlimit(resource, &now); err != nil {
		return fmt.Errorf("%s=%d: %w", key, least, err)
	}
	err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: least, Max: max(now.Max, least)})
	if err == nil {
		return nil
	}
	if soft < now.Max {
		err = errors.Join(err, syscall.Setrlimit(resource, &syscall.Rlimit{Cur: now.Max, Max: now.Max}))
	}
	return fmt.Errorf("%s=%d, but the hard limit is %d: %w", key, least, now.Max, err)
}
