package main_test

import (
	"archive/tar"
	"bytes"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/toskose/toskose/internal/testunit"
	"github.com/toskose/toskose/unit/wire"
)

// docker runs the engine's command line and gives what it prints.
func docker(t *testing.T, stdin []byte, args ...string) string {
	t.Helper()
	cmd := exec.Command("docker", args...)
	cmd.Stdin = bytes.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("docker %s: %v\n%s", strings.Join(args, " "), err, &stderr)
	}
	return strings.TrimSpace(string(out))
}

func needsEngine(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("docker", "version", "--format", "{{.Server.Os}}").CombinedOutput(); err != nil {
		t.Skipf("no Docker engine: %v: %s", err, bytes.TrimSpace(out))
	}
}

// buildInhabitant builds the inhabitant, which needs no libc.
func buildInhabitant(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "inhabitant")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "./testdata/inhabitant")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("cannot build the inhabitant: %v\n%s", err, out)
	}
	return path
}

// fromScratch makes an image of nothing but these files, by their names at its
// root, and runs it.
func fromScratch(t *testing.T, files map[string]string) (id string, port int) {
	t.Helper()
	var image bytes.Buffer
	w := tar.NewWriter(&image)
	for name, path := range files {
		content, err := os.ReadFile(path)
		if err == nil {
			err = w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content)), Typeflag: tar.TypeReg})
		}
		if err == nil {
			_, err = w.Write(content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	ref := "toskose-unit-test:" + strings.ToLower(rand.Text())
	docker(t, image.Bytes(), "import", "--change", `ENTRYPOINT ["/toskose-unit","-c","/supervisord.conf"]`, "-", ref)
	t.Cleanup(func() { _ = exec.Command("docker", "rmi", "-f", ref).Run() })
	id = docker(t, nil, "run", "-d", "-p", "127.0.0.1::9001", "-e", "SUPERVISORD_PASSWORD=secret", ref)
	t.Cleanup(func() {
		if t.Failed() {
			out, _ := exec.Command("docker", "logs", "--tail", "50", id).CombinedOutput()
			t.Logf("the container wrote:\n%s", out)
		}
		_ = exec.Command("docker", "rm", "-f", "-v", id).Run()
	})
	_, text, err := net.SplitHostPort(docker(t, nil, "port", id, "9001/tcp"))
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	return id, port
}

// TestAContainerOfNothingButTheUnit is the unit where nothing else is: a real
// container with no shell, no libc, no users and no folders.
func TestAContainerOfNothingButTheUnit(t *testing.T) {
	t.Parallel()
	needsEngine(t)
	conf := filepath.Join(t.TempDir(), "supervisord.conf")
	text := `[supervisord]
nodaemon=true
logfile=/unit.log
toskose_journal=/journal
[inet_http_server]
port=*:9001
username=admin
toskose_auth=required
[program:code]
command=/inhabitant exit %(process_num)d
numprocs=256
process_name=%(process_num)d
autostart=false
autorestart=false
startsecs=0
stdout_logfile=NONE
stderr_logfile=NONE
` + inhabitant("orphans", "200") + inhabitant("escape", "", "stopwaitsecs=1") + inhabitant("deaf", "", "stopwaitsecs=1")
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	id, port := fromScratch(t, map[string]string{
		"toskose-unit": testunit.Shipped(t), "inhabitant": buildInhabitant(t), "supervisord.conf": conf,
	})
	c := &container{t: t, dir: t.TempDir(), port: port, password: "secret", exited: make(chan struct{}), stderr: &bytes.Buffer{}}
	c.journal(func(e wire.Entry) bool { return e.Kind == wire.EntryBoot })

	c.must("supervisor.startProcessGroup", "code", false)
	for i := range 256 {
		if info := c.inState(fmt.Sprintf("code:%d", i), wire.Exited); info.ExitStatus != i {
			t.Errorf("%d became %d", i, info.ExitStatus)
		}
	}
	c.must("supervisor.startProcess", "orphans")
	c.inState("orphans", wire.Exited)
	c.eventually("all orphans are reaped", func() bool {
		return !strings.Contains(docker(t, nil, "top", id, "-eo", "pid,stat,args"), "inhabitant")
	})
	for range 2 {
		c.must("supervisor.startProcess", "escape")
		c.eventually("it has escaped", func() bool {
			var out string
			err := c.call(&out, "supervisor.readProcessStdoutLog", "escape", 0, 0)
			return err == nil && strings.Contains(out, "deaf")
		})
		c.must("supervisor.stopProcess", "escape")
		c.must("supervisor.clearProcessLogs", "escape")
		for line := range strings.Lines(docker(t, nil, "top", id, "-eo", "pid,stat,args")) {
			if strings.Contains(line, "inhabitant") && !strings.Contains(line, "<defunct>") { // which has ended
				t.Errorf("the stop answered, and there is %s", line)
			}
		}
	}
	c.must("supervisor.startProcess", "deaf")
	docker(t, nil, "stop", "-t", "600", id) // which kills it then: its code would be 137
	if code := docker(t, nil, "inspect", "-f", "{{.State.ExitCode}}", id); code != "0" {
		t.Errorf("the container ended with %s", code)
	}
}

func inhabitant(name, args string, more ...string) string {
	return fmt.Sprintf("[program:%s]\ncommand=/inhabitant %s %s\nautostart=false\nautorestart=false\nstartsecs=0\nstdout_logfile=/%s.log\n%s\n",
		name, name, args, name, strings.Join(more, "\n"))
}
