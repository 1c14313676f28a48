package differential

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// interpreter is a Python interpreter that has loaded Supervisor, and forks for each run of it: a new interpreter takes
// longer to start than most scenarios take.
type interpreter struct {
	cmd    *exec.Cmd
	folder string
	socket string
}

// environment returns the environment of all programs that are compared.
func environment(home string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TZ=UTC", "DIFFER=from outside", "PERCENT=100%",
	}
}

// newInterpreter starts an interpreter that ends with close.
func newInterpreter(ctx context.Context) (*interpreter, error) {
	folder, err := os.MkdirTemp("", "interpreter-")
	if err != nil {
		return nil, err
	}
	python, err := pythonOf("supervisord")
	if err != nil {
		return nil, err
	}
	p := &interpreter{folder: folder, socket: filepath.Join(folder, "socket")}
	p.cmd = exec.CommandContext(ctx, python, filepath.Join("testdata", "interpreter.py"), p.socket)
	p.cmd.Env, p.cmd.Stderr = environment(folder), os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		return nil, fmt.Errorf("the interpreter does not start: %q, %w", line, err)
	}
	return p, nil
}

func (p *interpreter) close() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	_ = os.RemoveAll(p.folder)
}

// pythonOf returns the interpreter in the first line of a script on the path.
func pythonOf(script string) (string, error) {
	path, err := exec.LookPath(script)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	python, ok := strings.CutPrefix(line, "#!")
	if !ok || strings.ContainsAny(strings.TrimSpace(python), " \t") {
		return "", fmt.Errorf("%s does not name its interpreter, but begins with %q", path, line)
	}
	return strings.TrimSpace(python), nil
}

// process is a run of a program.
type process struct {
	pid    int
	exited chan struct{}
	code   int // once exited: its exit code, or -1 after a signal
}

func (p *process) signal(sig syscall.Signal) error {
	select {
	case <-p.exited:
		return os.ErrProcessDone
	default:
		return syscall.Kill(p.pid, sig)
	}
}

// run runs supervisord or supervisorctl in a fork. The streams may be closed when it returns.
func (p *interpreter) run(program string, args, env []string, dir string, stdin, stdout *os.File) (*process, error) {
	variables := map[string]string{}
	for _, variable := range env {
		name, value, _ := strings.Cut(variable, "=")
		variables[name] = value
	}
	request, err := json.Marshal(map[string]any{"program": program, "args": args, "env": variables, "dir": dir})
	if err != nil {
		return nil, err
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: p.socket, Net: "unix"})
	if err != nil {
		return nil, err
	}
	rights := syscall.UnixRights(int(stdin.Fd()), int(stdout.Fd()), int(stdout.Fd()))
	if _, _, err := conn.WriteMsgUnix(request, rights, nil); err != nil {
		conn.Close()
		return nil, err
	}
	reader := bufio.NewReader(conn)
	started := &process{exited: make(chan struct{})}
	if _, err := fmt.Fscanln(reader, &started.pid); err != nil {
		conn.Close()
		return nil, fmt.Errorf("%s does not start: %w", program, err)
	}
	go func() {
		defer close(started.exited)
		defer conn.Close()
		if _, err := fmt.Fscanln(reader, &started.code); err != nil || started.code < 0 {
			started.code = -1
		}
	}()
	return started, nil
}

// command runs another program.
func command(argv, env []string, dir string, stdin, stdout *os.File) (*process, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, dir, stdin, stdout, stdout
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	started := &process{pid: cmd.Process.Pid, exited: make(chan struct{})}
	go func() {
		defer close(started.exited)
		_ = cmd.Wait()
		started.code = cmd.ProcessState.ExitCode()
	}()
	return started, nil
}

// collect copies what is written to a pipe to an output. done is closed when every process that has the pipe has closed it.
func collect(to interface{ Write([]byte) (int, error) }) (write *os.File, done <-chan struct{}, err error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	ended := make(chan struct{})
	var once sync.Once
	go func() {
		defer once.Do(func() { close(ended) })
		defer read.Close()
		piece := make([]byte, 4096)
		for {
			n, err := read.Read(piece)
			_, _ = to.Write(piece[:n])
			if err != nil {
				return
			}
		}
	}()
	return write, ended, nil
}
