package proctree

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"

	"golang.org/x/sys/unix"
)

// Program is the number of one of the unit's programs, from 1 to [MaxProgram].
// It must not change while the unit runs.
type Program uint32

const (
	// Unclaimed is the program of processes that no mark claims.
	Unclaimed Program = 0
	// MaxProgram is the largest number that fits into a mark.
	MaxProgram Program = 1<<programBits - 1

	programBits = 20
	bootBits    = 20
	markBit     = 1 << 50 // 35 years in microseconds: effectively unlimited
)

// The environment variables that mark a program's processes.
const (
	EnvComponent = "TOSKOSE_COMPONENT"
	EnvOperation = "TOSKOSE_OPERATION"
	EnvMark      = "TOSKOSE_MARK"
)

// boot is the random part of all marks of one run of the unit.
type boot uint32

func drawBoot(random io.Reader) (boot, error) {
	var b [4]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return 0, fmt.Errorf("cannot draw random bits for the marks of processes: %w", err)
	}
	return boot(binary.LittleEndian.Uint32(b[:]) & (1<<bootBits - 1)), nil
}

func (b boot) mark(p Program) uint64 {
	return markBit + uint64(b)<<programBits + uint64(p&MaxProgram)
}

// program returns the program of a mark, or Unclaimed if it is not of this boot.
func (b boot) program(mark uint64) Program {
	if mark&^uint64(MaxProgram) != b.mark(0) {
		return Unclaimed
	}
	return Program(mark) & MaxProgram
}

// rttimeLine begins the line of /proc/PID/limits with the mark.
var rttimeLine = []byte("\nMax realtime timeout ")

// inLimits finds the program in the text of /proc/PID/limits.
func (b boot) inLimits(limits []byte) Program {
	i := bytes.Index(limits, rttimeLine)
	if i < 0 {
		return Unclaimed
	}
	fields := bytes.Fields(limits[i+len(rttimeLine):])
	if len(fields) == 0 {
		return Unclaimed
	}
	return b.parse(fields[0])
}

// inEnviron finds the program in the text of /proc/PID/environ.
func (b boot) inEnviron(environ []byte) Program {
	for len(environ) > 0 {
		var variable []byte
		variable, environ, _ = bytes.Cut(environ, []byte{0})
		if value, ok := bytes.CutPrefix(variable, []byte(EnvMark+"=")); ok {
			return b.parse(value)
		}
	}
	return Unclaimed
}

func (b boot) parse(decimal []byte) Program {
	mark, err := strconv.ParseUint(string(decimal), 10, 64)
	if err != nil {
		return Unclaimed // "unlimited"
	}
	return b.program(mark)
}

// byLimit returns the program that a process's resource limit names.
func (t *Tree) byLimit(pid int) Program {
	var limit unix.Rlimit
	// Takes a twentieth of the time of reading the file, but works only for our
	// own user's processes unless we have CAP_SYS_RESOURCE.
	if t.direct && unix.Prlimit(pid, unix.RLIMIT_RTTIME, nil, &limit) == nil {
		return t.boot.program(limit.Cur)
	}
	limits, err := t.proc.limits(pid)
	if err != nil {
		return Unclaimed
	}
	return t.boot.inLimits(limits)
}

// errNoLimit is in the error chain when a resource limit cannot be the mark.
var errNoLimit = errors.New("cannot mark processes by RLIMIT_RTTIME")

// markSelf sets the soft limit on this process and returns a function that restores it.
func markSelf(mark uint64) (restore func(), err error) {
	var old unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_RTTIME, nil, &old); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoLimit, err)
	}
	if old.Max < mark {
		return nil, fmt.Errorf("%w: its hard limit here is %d µs", errNoLimit, old.Max)
	}
	if err := unix.Prlimit(0, unix.RLIMIT_RTTIME, &unix.Rlimit{Cur: mark, Max: old.Max}, nil); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoLimit, err)
	}
	return func() {
		// Cannot fail: moving a soft limit below the hard one needs no privilege.
		_ = unix.Prlimit(0, unix.RLIMIT_RTTIME, &old, nil)
	}, nil
}

// probe sets a mark, reads it back as it is read from other processes, and removes it.
func (t *Tree) probe() error {
	const sample = MaxProgram
	restore, err := markSelf(t.boot.mark(sample))
	if err != nil {
		return err
	}
	defer restore()
	limits, err := t.proc.limits(t.self)
	if err != nil {
		return fmt.Errorf("%w: %w", errNoLimit, err)
	}
	if got := t.boot.inLimits(limits); got != sample {
		return fmt.Errorf("%w: the kernel does not show it in /proc/PID/limits", errNoLimit)
	}
	return nil
}

// Env returns the variables that mark a program's processes.
func (t *Tree) Env(program Program, component, operation string) []string {
	return []string{
		EnvComponent + "=" + component,
		EnvOperation + "=" + operation,
		EnvMark + "=" + strconv.FormatUint(t.boot.mark(program), 10),
	}
}

// Around returns a hook that marks a fork as the program's: it sets the mark on this process, calls
// fork, and removes the mark. Forks must not overlap, which the reaper ensures. The child must lead
// its own process group. component is the program that processes without the program's own marks
// are attributed to; it may be Unclaimed.
func (t *Tree) Around(program, component Program) func(fork func() (int, error)) (int, error) {
	return func(fork func() (int, error)) (int, error) {
		if t.noLimitMark == nil {
			restore, err := markSelf(t.boot.mark(program))
			if err != nil {
				return 0, err // the hard limit was lowered meanwhile
			}
			defer restore()
		}
		defer t.core.set(program, component)()
		pid, err := fork()
		if err == nil {
			t.memory.forked(pid, program, component)
		}
		return pid, err
	}
}
