// Package limits raises the soft limits that children inherit, as minfds and
// minprocs ask for. It starts no goroutine.
package limits

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/toskose/toskose/unit/limits/original"
)

// Raise makes the soft limits of open files and of processes at least so large,
// for this process and its children. What is larger stays. Where the hard limit is
// lower and cannot be raised, the soft one becomes that, and the error says so.
//
// The Go runtime raises this process's limit of open files to the hard one, and
// its children get the one before that. Raise changes neither unless theirs is too
// low; then both become minFDs.
func Raise(minFDs, minProcs int) error {
	var processes syscall.Rlimit
	if err := syscall.Getrlimit(unix.RLIMIT_NPROC, &processes); err != nil {
		return fmt.Errorf("cannot read the limit of processes: %w", err)
	}
	return errors.Join(
		raise("minfds", unix.RLIMIT_NOFILE, original.Files(), uint64(minFDs)),
		raise("minprocs", unix.RLIMIT_NPROC, processes.Cur, uint64(minProcs)))
}

// raise raises a limit whose soft value is too low for children. Setrlimit makes
// the runtime forget what children would have got.
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
