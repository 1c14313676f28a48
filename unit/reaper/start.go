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

// Spec says what to run, and as whom. The child is the leader of a process
// group of its own, and inherits no descriptor but the three below.
type Spec struct {
	Path string   // of the executable, absolute: PATH is not searched
	Args []string // argv, with the program's name first; empty: Path alone
	Env  []string // all of its environment, as NAME=value
	Dir  string   // its working directory; empty: this process's

	// Credential is whom it runs as: uid, gid, and exactly these
	// supplementary groups. nil: as this process does.
	Credential *syscall.Credential

	// Umask of the child, nil: this process's. An umask belongs to a whole
	// process, so while the child is forked other goroutines create files
	// under it, too.
	Umask *int

	// Cgroup is a descriptor of the cgroup (v2) that the child is forked into; 0: this
	// process's, which it is, too, where the kernel or a seccomp profile does not allow that.
	Cgroup int

	// The child's standard files; nil: /dev/null. The caller closes them.
	Stdin, Stdout, Stderr *os.File

	// Around, if not nil, wraps the fork: it must call fork once and return
	// its results. The child inherits what Around has changed about this
	// process; no other fork runs meanwhile.
	Around func(fork func() (int, error)) (int, error)
}

// Start forks a child and executes its program. It fails if the program cannot
// be executed; the error says what was tried and wraps the system's error, so
// that errors.Is works with fs.ErrNotExist, fs.ErrPermission and
// syscall.ENOEXEC. [Child.Done] is closed when the child ends; that is noticed
// only while [Reaper.Run] runs.
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
		attr.Env = []string{} // nil would pass on ours
	}
	child := &Child{reaper: r, done: make(chan struct{})}
	// Not os/exec or os.StartProcess: their Wait would compete with Run, and
	// the first use of either forks a child of its own to probe the kernel.
	// ForkExec waits for its child only if the program could not be executed,
	// and under the lock the reaper cannot see that child.
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

// intoCgroup forks a child into a cgroup. What fails there is tried without, which tells
// whether the cgroup was the reason.
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

// explain turns the bare errno of a failed fork into a sentence: the same
// number may be about the working directory, the user or the program.
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

// missingInterpreter names the interpreter or loader that a program needs and
// that does not exist.
func missingInterpreter(path string) string {
	const loader = "its dynamic loader is missing"
	f, err := os.Open(path)
	if err != nil {
		return loader
	}
	defer f.Close()
	head := make([]byte, 256) // as much as the kernel looks at (BINPRM_BUF_SIZE)
	n, _ := io.ReadFull(f, head)
	line, _, _ := bytes.Cut(head[:n], []byte("\n"))
	interpreter, ok := bytes.CutPrefix(line, []byte("#!"))
	if !ok {
		return loader
	}
	name, _, _ := strings.Cut(strings.TrimLeft(string(interpreter), " \t"), " ")
	return fmt.Sprintf("its #! line asks for %q", name)
}

// closeOnExec marks all descriptors above the standard ones that this process
// was started with, so that no child inherits them. Go opens all others with
// the flag set.
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
