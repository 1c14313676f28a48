package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// patience is the time limit of all steps: supervisord takes half a minute to start 1,000 programs, and more
// than a minute on a busy machine.
const patience = 3 * time.Minute

// contender is a measured program.
type contender struct {
	name   string
	path   string
	flags  []string
	files  []string // whose sizes count as its size
	speaks bool     // it serves Supervisor's XML-RPC; otherwise it only runs a command
	joins  bool     // it replaces supervisord in an attached container: it joins an application by its environment
}

// process is a running contender.
type process struct {
	dir    string
	cmd    *exec.Cmd
	begun  time.Time
	output bytes.Buffer
	client *http.Client
}

// start runs a contender with sections of programs; %DIR% in them is replaced by its folder. As PID 1 it only
// sees the processes of its namespace, as in a container.
func (c contender) start(dir, sections string, asInit bool) (*process, error) {
	dir, err := os.MkdirTemp(dir, c.name)
	if err != nil {
		return nil, err
	}
	p := &process{dir: dir}
	argv := []string{c.path, "--", "sleep", "1000"}
	if c.speaks {
		conf := filepath.Join(dir, "supervisord.conf")
		text := strings.ReplaceAll(preamble+sections, "%DIR%", dir)
		if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
			return nil, err
		}
		argv = append(append([]string{c.path}, c.flags...), "-c", conf)
		socket := filepath.Join(dir, "socket")
		p.client = &http.Client{Timeout: patience, Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				var d net.Dialer
				return d.DialContext(ctx, "unix", socket)
			},
		}}
	}
	p.cmd = exec.CommandContext(context.Background(), argv[0], argv[1:]...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if asInit && os.Geteuid() == 0 {
		p.cmd = exec.CommandContext(context.Background(), "/proc/self/exe", argv...)
		p.cmd.Env = append(os.Environ(), role+"=init")
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	}
	if c.joins {
		p.cmd.Env = append(p.cmd.Environ(), "TOSKOSE_UNIT_LISTEN=127.0.0.1:0", "SUPERVISORD_PASSWORD=secret")
	}
	p.cmd.Stderr = &p.output
	p.begun = time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	if !c.speaks {
		return p, nil
	}
	if err := p.answers(); err != nil {
		p.kill()
		return nil, fmt.Errorf("%s: %w\n%s", c.name, err, &p.output)
	}
	return p, nil
}

const preamble = `[supervisord]
nodaemon=true
logfile=%DIR%/main.log
pidfile=%DIR%/pid
childlogdir=%DIR%
minfds=16384
[unix_http_server]
file=%DIR%/socket
[rpcinterface:supervisor]
supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface
`

// becomeInit mounts this namespace's /proc and executes a contender.
func becomeInit() error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("cannot make mounts private: %w", err)
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("cannot mount /proc: %w", err)
	}
	if err := os.Unsetenv(role); err != nil {
		return err
	}
	return syscall.Exec(os.Args[1], os.Args[1:], os.Environ())
}

// answers waits for the first response.
func (p *process) answers() error {
	for deadline := time.Now().Add(patience); ; {
		_, err := p.call("supervisor.getState")
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return err
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// stop terminates the contender and returns how long that took.
func (p *process) stop() (time.Duration, error) {
	begun := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return 0, err
	}
	timer := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	_ = p.cmd.Wait()
	p.close()
	return time.Since(begun), nil
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	p.close()
}

func (p *process) close() {
	if p.client != nil {
		p.client.CloseIdleConnections()
	}
	_ = os.RemoveAll(p.dir)
}

// resident returns the resident memory of the process in bytes.
func (p *process) resident() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for _, line := range splitLines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kilobytes, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
			return float64(kilobytes) * 1024, err
		}
	}
	return 0, fmt.Errorf("cannot find the resident memory of process %d", p.cmd.Process.Pid)
}

// tick is the resolution of processor times.
const tick = time.Microsecond

// processorTime returns the processor time of the contender's threads, without its children.
func (p *process) processorTime() (time.Duration, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	total := time.Duration(0)
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if err != nil {
			continue // already exited
		}
		used, _, _ := strings.Cut(string(text), " ")
		nanoseconds, err := strconv.ParseInt(used, 10, 64)
		if err != nil {
			return 0, err
		}
		total += time.Duration(nanoseconds)
	}
	if total == 0 {
		return 0, fmt.Errorf("cannot find the processor time of process %d", p.cmd.Process.Pid)
	}
	return total, nil
}

// children counts the contender's children: zombies and live processes.
func (p *process) children() (zombies, alive int, err error) {
	parent := strconv.Itoa(p.cmd.Process.Pid)
	text, err := os.ReadFile("/proc/" + parent + "/task/" + parent + "/children")
	if err != nil {
		return 0, 0, err
	}
	for _, pid := range strings.Fields(string(text)) {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil {
			continue // already reaped
		}
		if strings.Contains(string(stat), ") Z ") {
			zombies++
		} else {
			alive++
		}
	}
	return zombies, alive, nil
}

func splitLines(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }
