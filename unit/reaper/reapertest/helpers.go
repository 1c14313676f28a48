package reapertest

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	helperArg = "reapertest-helper"
	relayArg  = "reapertest-relay"

	siblingArg = "reapertest-sibling"
)

// Spawn returns the command line of a helper program that starts another program and exits with 0
// at once without waiting for it, as daemons do. It takes these flags, in any order, before the
// program's own command line:
//
//	setsid       in a session of its own
//	pgid         in a process group of its own
//	clean        with an empty environment
//	nobody       as user and group 65534
//	rttime=N     with that soft RLIMIT_RTTIME, in µs, or "unlimited"
//	linger       does not exit or reap the program, but sleeps after printing
//	             "lingering", before or after the program's output
func Spawn(flags string, argv ...string) []string {
	command := []string{self(), helperArg}
	command = append(command, strings.Fields(flags)...)
	return append(append(command, "--"), argv...)
}

// Shell returns the command line of a shell script.
func Shell(script string) []string { return []string{"/bin/sh", "-c", script} }

// Sleeper prints its pid and sleeps for ever.
func Sleeper() []string { return Shell("echo $$; exec sleep 100000") }

// Relay returns the command line of a program that ignores TERM and regularly forks and exits, so
// that it continues in process after process. It prints a line when it begins. After some thousand
// forks it stops forking, so that a slow reaper can catch up, and it exits once its output is not
// read any more.
func Relay(every time.Duration) []string {
	return []string{self(), relayArg, strconv.FormatInt(every.Nanoseconds(), 10)}
}

// Sibling returns the command line of a program that forks a sibling, not a child, and exits. The
// sibling prints a line, and exits once its output is not read any more.
func Sibling() []string { return []string{self(), siblingArg} }

func runRelay(args []string) error {
	every, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGTERM)
	fmt.Println("relaying")
	runtime.LockOSThread()
	const forks = 5000
	for range forks {
		if !passOn(0) {
			rawExit()
		}
		rawSleep(every)
	}
	for {
		rawSleep(time.Second.Nanoseconds())
	}
}

func runSibling([]string) error {
	runtime.LockOSThread()
	if !passOn(unix.CLONE_PARENT) {
		rawExit()
	}
	line := []byte("here\n")
	_, _, _ = syscall.RawSyscall(syscall.SYS_WRITE, 1, uintptr(unsafe.Pointer(&line[0])), uintptr(len(line))) //nolint:gosec // it lives through the call
	for {
		rawSleep(time.Second.Nanoseconds())
	}
}

// passOn forks, and reports whether the caller should continue: as the child or, if the fork fails,
// as itself. A child has only the calling thread, which Go's runtime does not know, so it makes raw
// system calls.
func passOn(flags uintptr) (goOn bool) {
	child, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD)|flags, 0, 0, 0, 0, 0)
	return errno != 0 || child == 0
}

// rawSleep sleeps, or ends the process if its output is not read any more.
func rawSleep(nanoseconds int64) {
	timeout := unix.NsecToTimespec(nanoseconds)
	output := unix.PollFd{Fd: 1}
	ready, _, errno := syscall.RawSyscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&output)), 1, //nolint:gosec // as the kernel has it
		uintptr(unsafe.Pointer(&timeout)), 0, 0, 0) //nolint:gosec // as the kernel has it
	if errno == 0 && ready == 1 {
		rawExit()
	}
}

func rawExit() { _, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0) }

func self() string {
	path, err := os.Executable()
	if err != nil {
		panic(err) // only without /proc
	}
	return path
}

func runHelper(args []string) error {
	attr := &os.ProcAttr{
		Dir: "/", Env: os.Environ(), Sys: &syscall.SysProcAttr{},
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
	}
	linger, around := false, func(start func() error) error { return start() }
	for i, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "setsid":
			attr.Sys.Setsid = true
		case "pgid":
			attr.Sys.Setpgid = true
		case "clean":
			attr.Env = []string{}
		case "nobody":
			attr.Sys.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
		case "rttime":
			around = func(start func() error) error { return limited(value, start) }
		case "linger":
			linger = true
		case "--":
			argv := args[i+1:]
			err := around(func() error {
				_, err := os.StartProcess(argv[0], argv, attr)
				return err
			})
			if err == nil && linger {
				fmt.Println("lingering")
			}
			for err == nil && linger {
				_ = unix.Pause() // until the next signal, such as SIGCHLD
			}
			return err
		default:
			return fmt.Errorf("unknown flag %q of a helper", arg)
		}
	}
	return fmt.Errorf("no command in %q", args)
}

// limited starts a process under another soft RLIMIT_RTTIME.
func limited(value string, start func() error) error {
	soft := uint64(unix.RLIM_INFINITY)
	if value != "unlimited" {
		var err error
		if soft, err = strconv.ParseUint(value, 10, 64); err != nil {
			return err
		}
	}
	var old unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_RTTIME, nil, &old); err != nil {
		return err
	}
	if err := unix.Prlimit(0, unix.RLIMIT_RTTIME, &unix.Rlimit{Cur: soft, Max: old.Max}, nil); err != nil {
		return err
	}
	return errors.Join(start(), unix.Prlimit(0, unix.RLIMIT_RTTIME, &old, nil))
}
