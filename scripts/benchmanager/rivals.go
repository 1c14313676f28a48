package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	deaths = 21 // of each rival
	image  = "toskose-bench-restart"
)

// phoenix is a program that a supervisor restarts. Each start appends its process id to a file.
type phoenix struct {
	file string
	pid  func(inside int) (int, error) // the process to kill, by its PID in the container
}

// command returns the command to run; its own overhead is the start of a shell and one write.
func (p phoenix) command() string {
	return fmt.Sprintf("/bin/sh -c 'echo $$ >> %s; exec sleep 1000'", p.file)
}

// starts returns how often it was started, and its latest process id.
func (p phoenix) starts() (n, pid int) {
	text, _ := os.ReadFile(p.file)
	lines := strings.Fields(string(text))
	if len(lines) > 0 {
		pid, _ = strconv.Atoi(lines[len(lines)-1])
	}
	return len(lines), pid
}

// await waits for the start with the given number.
func (p phoenix) await(n int) (pid int, err error) {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Microsecond) {
		if have, pid := p.starts(); have >= n {
			return p.pid(pid)
		}
	}
	return 0, errors.New("it is not restarted")
}

// revive kills it repeatedly, and returns how long each restart takes. It kills the program only after
// it has run long enough for the start to count as successful.
func (p phoenix) revive(life time.Duration) ([]time.Duration, error) {
	pid, err := p.await(1)
	var all []time.Duration
	for n := 2; err == nil && len(all) < deaths; n++ {
		time.Sleep(life)
		begun := time.Now()
		if err = syscall.Kill(pid, syscall.SIGKILL); err == nil {
			pid, err = p.await(n)
		}
		all = append(all, time.Since(begun))
	}
	return all, err
}

func itself(pid int) (int, error) { return pid, nil }

// restarts measures how long it takes until an exited component is restarted, by the goal and by other
// supervisors.
func (b *bench) restarts(binary string) error {
	own := phoenix{file: filepath.Join(b.dir, "own"), pid: itself}
	var alone []time.Duration
	for n := range deaths {
		begun := time.Now()
		cmd := exec.CommandContext(context.Background(), "/bin/sh", "-c", fmt.Sprintf("echo $$ >> %s; exec sleep 1000", own.file))
		if err := cmd.Start(); err != nil {
			return err
		}
		_, err := own.await(n + 1)
		alone = append(alone, time.Since(begun))
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if err != nil {
			return err
		}
	}
	time0 := milliseconds(median(alone))
	b.row("a start of the component without a supervisor, median", time0, 0, "ms")
	for _, rival := range []struct {
		name string
		goal float64
		run  func(string) ([]time.Duration, error)
	}{
		{"the goal", time0 + 20, b.byGoal},
		{"supervisord's autorestart", 0, b.bySupervisord},
		{"the engine's restart policy", 0, b.byEngine},
	} {
		took, err := rival.run(binary)
		if err != nil {
			b.lacks("restarted by "+rival.name, err)
			continue
		}
		b.row(fmt.Sprintf("restarted by %s, median", rival.name), milliseconds(median(took)), rival.goal, "ms")
	}
	return nil
}

func (b *bench) byGoal(binary string) ([]time.Duration, error) {
	p := phoenix{file: filepath.Join(b.dir, "goal"), pid: itself}
	s, err := keepUp(b.dir, binary, 50*time.Millisecond, p.command())
	if err != nil {
		return nil, err
	}
	defer s.stop()
	return p.revive(200 * time.Millisecond)
}

func (b *bench) bySupervisord(string) ([]time.Duration, error) {
	p := phoenix{file: filepath.Join(b.dir, "supervisord"), pid: itself}
	path, err := exec.LookPath("supervisord")
	if err != nil {
		return nil, err
	}
	conf := filepath.Join(b.dir, "rival.conf")
	text := fmt.Sprintf("[supervisord]\nnodaemon=true\nlogfile=%[1]s/rival.log\npidfile=%[1]s/rival.pid\n[program:phoenix]\ncommand=%[2]s\nautorestart=true\nstartsecs=0\n", b.dir, p.command())
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(context.Background(), path, "-c", conf)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}()
	return p.revive(200 * time.Millisecond)
}

// byEngine measures a container. Its image is empty, and the shell's folders are mounted from this
// machine, so it does not pull an image.
func (b *bench) byEngine(string) ([]time.Duration, error) {
	p := phoenix{file: filepath.Join(b.dir, "engine"), pid: func(int) (int, error) {
		text, err := docker("inspect", "-f", "{{.State.Pid}}", image)
		if err != nil {
			return 0, err
		}
		return strconv.Atoi(text)
	}}
	empty := exec.CommandContext(context.Background(), "sh", "-c", "tar -cf - -T /dev/null | docker import - "+image)
	if out, err := empty.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("no engine: %s", strings.TrimSpace(string(out)))
	}
	defer func() {
		_, _ = docker("rm", "-f", image)
		_, _ = docker("rmi", image)
	}()
	argv := []string{"run", "-d", "--name", image, "--restart=always", "--network=none", "-v", b.dir + ":" + b.dir}
	for _, folder := range []string{"/bin", "/lib", "/lib64", "/usr"} {
		if _, err := os.Stat(folder); err == nil {
			argv = append(argv, "-v", folder+":"+folder+":ro")
		}
	}
	argv = append(argv, image, "/bin/sh", "-c", "echo $$ >> "+p.file+"; exec sleep 1000")
	if _, err := docker(argv...); err != nil {
		return nil, err
	}
	return p.revive(11 * time.Second) // the engine increases its delay for containers that run less than ten seconds
}

func docker(argv ...string) (string, error) {
	out, err := exec.CommandContext(context.Background(), "docker", argv...).CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		return "", fmt.Errorf("docker %s: %s", argv[0], text)
	}
	return text, nil
}
