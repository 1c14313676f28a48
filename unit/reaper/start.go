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
	Path string   // of the executable, absolute: nothing is searched for
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

	// The child's standard files; nil: /dev/null. They stay open here.
	Stdin, Stdout, Stderr *os.File

	// Around, if not nil, is called in place of the fork and has to call
	// fork once and return its results. What it changes about this process
	// meanwhile, the child inherits; no other fork runs at that time.
	Around func(fork func() (int, error)) (int, error)
}

// Start forks a child and executes its program. It fails where that cannot be
// executed; the error says what was tried, and wraps the system's error, so
// that errors.Is with fs.ErrNotExist, fs.ErrPermission and syscall.ENOEXEC
// tells why. The end of a child is delivered by [Child.Done], once, and is
// seen only while [Reaper.Run] runs.
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
		attr.Env = []string{} // nil would hand on ours
	}
	child := &Child{reaper: r, done: make(chan struct{})}
	// Not os/exec and not os.StartProcess: their Wait would compete with the
	// one of Run, and the first use of either forks a child of its own to
	// probe the kernel. ForkExec waits for its child only when the program
	// could not be executed, and under the lock nobody sees that one.
	fork := func() (int, error) { return syscall.ForkExec(spec.Path, argv, attr) }
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

// files are the descriptors that the child gets as 0, 1 and 2. Fd makes each
// of them blocking, as programs expect of their standard files.
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

func underUmask(umask int, fork func() (int, error)) func() (int, error) {
	return func() (int, error) {
		defer unix.Umask(unix.Umask(umask))
		return fork()
	}
}

// explain makes a sentence of the bare number that a failed fork gives: the
// same one stands for a working directory, a user and a program.
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

// missingInterpreter names what an existing program needs and lacks.
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

// closeOnExec marks all descriptors that this process was started with, above
// the standard ones, so that no child gets them. Go opens all others so.
func closeOnExec() error {
	const first = 3
	err := unix.CloseRange(first, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	// Linux before 5.11, or a seccomp profile that does not know close_range.
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
