package differential

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/toskose/toskose/internal/freeport"
	"github.com/toskose/toskose/internal/testunit"
)

// patience bounds every wait for something that must come.
const patience = 2 * time.Minute

// kind is one of the two programs that are compared.
type kind struct {
	name    string
	command []string // before the configuration
}

// server is one of them, running.
type server struct {
	kind   kind
	dir    string
	port   string
	socket string
	cmd    *exec.Cmd
	output testunit.Output
	exited chan struct{}
	files  map[string]string // as steps have read them
	left   []int             // processes that may outlive it
}

// start runs a server on the configuration of a scenario, until it accepts
// connections or has ended.
func start(ctx context.Context, k kind, s scenario) (*server, error) {
	dir, err := os.MkdirTemp("", "differential-")
	if err != nil {
		return nil, err
	}
	v := &server{kind: k, dir: dir, socket: filepath.Join(dir, "socket"), exited: make(chan struct{}), files: map[string]string{}}
	port, err := freeport.Reserve(ctx)
	if err != nil {
		return nil, err
	}
	v.port = strconv.Itoa(port)
	if err := s.write(dir, strings.NewReplacer("DIR", dir, "PORT", v.port, "SOCKET", v.socket)); err != nil {
		return nil, err
	}
	args := append(k.command[1:len(k.command):len(k.command)], filepath.Join(dir, "supervisord.conf"))
	v.cmd = exec.Command(k.command[0], args...)
	v.cmd.Dir = dir
	v.cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TZ=UTC",
		"DIFFER=from outside", "PERCENT=100%", testunit.EndsAtOnce,
	}
	v.cmd.Stdout, v.cmd.Stderr = &v.output, &v.output
	v.cmd.WaitDelay = time.Second // its children hold its output, too
	if err := v.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = v.cmd.Wait()
		close(v.exited)
	}()
	return v, v.accepts(ctx)
}

// accepts waits until somebody listens, or nobody will any more.
func (v *server) accepts(ctx context.Context) error {
	return poll(ctx, func() (bool, error) {
		select {
		case <-v.exited:
			return true, nil
		default:
		}
		conn, err := net.Dial("tcp", "127.0.0.1:"+v.port)
		if err != nil {
			return false, nil //nolint:nilerr // not yet
		}
		return true, conn.Close()
	})
}

// poll asks until it is so, ever more seldom. Both servers are asked from
// outside: nothing else tells when a process of theirs has come to a state.
func poll(ctx context.Context, so func() (bool, error)) error {
	const most = 64 * time.Millisecond
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, most) {
		if done, err := so(); done || err != nil {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// end stops the server, if it still runs, and removes what it left.
func (v *server) end() error {
	_ = v.cmd.Process.Signal(syscall.SIGTERM)
	var err error
	select {
	case <-v.exited:
	case <-time.After(patience):
		_ = v.cmd.Process.Kill()
		<-v.exited
		err = fmt.Errorf("%s does not end:\n%s", v.kind.name, &v.output)
	}
	for _, pid := range v.left {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if text := v.output.String(); strings.Contains(text, "DATA RACE") {
		err = errors.Join(err, fmt.Errorf("%s has a data race:\n%s", v.kind.name, text))
	}
	return errors.Join(err, os.RemoveAll(v.dir))
}

// exitCode is that of a server that has ended.
func (v *server) exitCode() int { return v.cmd.ProcessState.ExitCode() }

// alive tells whether a process exists and has not ended.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := bytes.Cut(stat, []byte(") "))
	return !bytes.HasPrefix(after, []byte("Z"))
}

// stays tells whether a process exists and neither ends nor has been sent a
// signal that ends it.
func stays(pid int) bool {
	const exiting, signaled = 0x4, 0x400 // PF_EXITING, PF_SIGNALED: see proc(5)
	const fatal = 1<<(syscall.SIGKILL-1) | 1<<(syscall.SIGTERM-1)
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	status, statusErr := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil || statusErr != nil || !alive(pid) {
		return false
	}
	_, after, _ := bytes.Cut(stat, []byte(") "))
	flags, _ := strconv.ParseUint(strings.Fields(string(after))[6], 10, 64)
	pending := uint64(0)
	for line := range strings.Lines(string(status)) {
		if name, set, _ := strings.Cut(line, ":"); name == "SigPnd" || name == "ShdPnd" {
			bits, _ := strconv.ParseUint(strings.TrimSpace(set), 16, 64)
			pending |= bits
		}
	}
	return flags&(exiting|signaled) == 0 && pending&fatal == 0
}
