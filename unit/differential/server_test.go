package differential

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
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

// kind is a program that is compared.
type kind struct {
	name    string
	command []string     // before the configuration
	python  *interpreter // runs supervisorctl and, if the kind has no command, supervisord
	joins   bool         // it joins an application by its environment, which must make no difference
}

// server is one of them, running.
type server struct {
	kind   kind
	dir    string
	port   string
	socket string
	env    []string
	*process
	output testunit.Output
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
	v := &server{kind: k, dir: dir, socket: filepath.Join(dir, "socket"), files: map[string]string{}}
	port, err := freeport.Reserve(ctx)
	if err != nil {
		return nil, err
	}
	v.port = strconv.Itoa(port)
	if err := s.write(dir, strings.NewReplacer("DIR", dir, "PORT", v.port, "SOCKET", v.socket)); err != nil {
		return nil, err
	}
	v.env = append(environment(dir), testunit.EndsAtOnce)
	if k.joins {
		port, err := freeport.Reserve(ctx)
		if err != nil {
			return nil, err
		}
		v.env = append(v.env, fmt.Sprintf("TOSKOSE_UNIT_LISTEN=127.0.0.1:%d", port), "SUPERVISORD_PASSWORD=secret", "SUPERVISORD_USER=joined", "TOSKOSE_LABEL_HOST=h")
	}
	if v.process, err = v.run(filepath.Join(dir, "supervisord.conf")); err != nil {
		return nil, err
	}
	return v, v.accepts(ctx)
}

// run starts the server, and collects its output until it has exited. Its children have the output, too.
func (v *server) run(configuration string) (*process, error) {
	nothing, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer nothing.Close()
	out, collected, err := collect(&v.output)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	var running *process
	if v.kind.command == nil {
		running, err = v.kind.python.run("supervisord", []string{"-n", "-c", configuration}, v.env, v.dir, nothing, out)
	} else {
		argv := append(v.kind.command[:len(v.kind.command):len(v.kind.command)], configuration)
		running, err = command(argv, v.env, v.dir, nothing, out)
	}
	if err != nil {
		return nil, err
	}
	complete := &process{pid: running.pid, exited: make(chan struct{})}
	go func() {
		defer close(complete.exited)
		<-running.exited
		complete.code = running.code
		select {
		case <-collected:
		case <-time.After(time.Second):
		}
	}()
	return complete, nil
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
	_ = v.signal(syscall.SIGTERM)
	var err error
	select {
	case <-v.exited:
	case <-time.After(patience):
		_ = v.signal(syscall.SIGKILL)
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
