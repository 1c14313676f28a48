package reaper

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Spec describes a process to start. The child leads its own process group and inherits only the
// three descriptors below.
type Spec struct {
	Path string   // of the executable, absolute: PATH is not searched
	Args []string // argv, including the program's name; empty: Path alone
	Env  []string // the complete environment, as NAME=value
	Dir  string   // its working directory; empty: this process's

	// Credential is the user, group and supplementary groups; nil: inherited.
	Credential *syscall.Credential

	// Umask of the child; nil: inherited. The umask belongs to the whole process, so
	// during the fork it also applies to files created by other goroutines.
	Umask *int

	// Cgroup is a descriptor of the cgroup (v2) to fork into. 0, or a kernel or seccomp profile
	// that does not allow it: the cgroup of this process.
	Cgroup int

	// The child's standard files; nil: /dev/null. The caller closes them.
	Stdin, Stdout, Stderr *os.File

	// Around, if not nil, wraps the fork: it must call fork once and return its results. The child
	// inherits what Around has changed in this process; forks do not overlap.
	Around func(fork func() (int, error)) (int, error)
}

// Start forks a child and executes its program. If the program cannot be executed, the error names
// the failed step and wraps the system's error, so that errors.Is works with fs.ErrNotExist,
// fs.ErrPermission and syscall.ENOEXEC. [Child.Done] is closed when the child ends; that requires
// [Reaper.Run] to be running.
func (r *Reaper) Start(spec Spec) (*Child, error) {
	if !strings.HasPrefix(spec.Path, "/") {
		return nil, fmt.Errorf("exec %q: the path is not absolute", spec.Path)
	}
	files, closeFiles, err := spec.files()
	if err != nil {
		return nil, err
	}
	defer closeFiles()
	argv := spec.Args
	if len(argv) == 0 {
		argv = []string{spec.Path}
	}
	attr := &syscall.ProcAttr{
		Dir:   spec.Dir,
		Env:   spec.Env,
		Files: files,
		Sys:   &syscall.SysProcAttr{Setpgid: true, Credential: spec.Credential},
	}
	if attr.Env == nil {
		attr.Env = []string{} // nil would inherit ours
	}
	child := &Child{reaper: r, done: make(chan struct{})}
	// os/exec and os.StartProcess are unsuitable: their Wait would compete with Run, and the first
	// use of either forks a child to probe the kernel. ForkExec waits only for a child that could
	// not execute, which the reaper does not see because of the lock.
	fork := func() (int, error) { return syscall.ForkExec(spec.Path, argv, attr) }
	if spec.Cgroup > 0 {
		fork = intoCgroup(spec.Cgroup, attr.Sys, fork)
	}
	if spec.Umask != nil {
		fork = underUmask(*spec.Umask, fork)
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	if spec.Around != nil {
		child.pid, err = spec.Around(fork)
	} else {
		child.pid, err = fork()
	}
	if err != nil {
		return nil, spec.explain(err)
	}
	r.children[child.pid] = child
	return child, nil
}

// files returns the descriptors that become the child's 0, 1 and 2. Fd makes
// each of them blocking, as programs expect of their standard files.
func (s *Spec) files() (fds []uintptr, closeFiles func(), err error) {
	var null *os.File
	for _, f := range []*os.File{s.Stdin, s.Stdout, s.Stderr} {
		if f == nil {
			if null == nil {
				if null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
					return nil, nil, err
				}
			}
			f = null
		}
		fds = append(fds, f.Fd())
	}
	return fds, func() {
		runtime.KeepAlive(s.Stdin)
		runtime.KeepAlive(s.Stdout)
		runtime.KeepAlive(s.Stderr)
		if null != nil {
			_ = null.Close()
		}
	}, nil
}

// intoCgroup forks a child into a cgroup. If that fails, it retries without the cgroup.
func intoCgroup(fd int, sys *syscall.SysProcAttr, fork func() (int, error)) func() (int, error) {
	return func() (int, error) {
		sys.UseCgroupFD, sys.CgroupFD = true, fd
		pid, err := fork()
		if err != nil {
			sys.UseCgroupFD = false
			pid, err = fork()
		}
		return pid, err
	}
}

func underUmask(umask int, fork func() (int, error)) func() (int, error) {
	return func() (int, error) {
		defer unix.Umask(unix.Umask(umask))
		return fork()
	}
}

// explain adds the failed step to the errno of a fork: the same number may concern the working
// directory, the user or the program.
func (s *Spec) explain(err error) error {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return fmt.Errorf("exec %q: %w", s.Path, err)
	}
	if s.Dir != "" {
		if info, statErr := os.Stat(s.Dir); errors.Is(statErr, errno) || (statErr == nil && !info.IsDir()) {
			return fmt.Errorf("chdir %q: %w", s.Dir, err)
		}
	}
	switch {
	case s.Credential != nil && (errno == syscall.EPERM || errno == syscall.EINVAL):
		return fmt.Errorf("become user %d with group %d: %w", s.Credential.Uid, s.Credential.Gid, err)
	case errno == syscall.ENOEXEC:
		return fmt.Errorf("exec %q: %w (no #! line, and no program for this machine)", s.Path, err)
	case errno == syscall.ENOENT:
		if _, statErr := os.Stat(s.Path); statErr == nil {
			return fmt.Errorf("exec %q: %w (%s)", s.Path, err, missingInterpreter(s.Path))
		}
	}
	return fmt.Errorf("exec %q: %w", s.Path, err)
}

// missingInterpreter names the interpreter or loader of a program that does not exist, or returns
// "".
func missingInterpreter(path string) string {
	const loader = "its dynamic loader is missing"
	f, err := os.Open(path)
	if err != nil {
		return loader
	}
	defer f.Close()
	head := make([]byte, 256) // the kernel reads no more (BINPRM_BUF_SIZE)
	n, _ := io.ReadFull(f, head)
	line, _, _ := bytes.Cut(head[:n], []byte("\n"))
	interpreter, ok := bytes.CutPrefix(line, []byte("#!"))
	if !ok {
		return loader
	}
	name, _, _ := strings.Cut(strings.TrimLeft(string(interpreter), " \t"), " ")
	return fmt.Sprintf("its #! line asks for %q", name)
}

// closeOnExec sets the close-on-exec flag of all descriptors above 2 that this process was started
// with. Go sets it for all others.
func closeOnExec() error {
	const first = 3
	err := unix.CloseRange(first, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	// Linux before 5.11, or a seccomp profile without close_range.
	dir, err := os.Open("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("cannot see which files are open: %w", err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return fmt.Errorf("cannot see which files are open: %w", err)
	}
	for _, name := range names {
		if fd, err := strconv.Atoi(name); err == nil && fd >= first {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}
