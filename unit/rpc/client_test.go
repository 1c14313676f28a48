package rpc

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// passwordServer serves a unit with a password on loopback and returns its port.
func passwordServer(t *testing.T, u Unit) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- Serve(ctx, listener, New(Options{Unit: u, User: "u", Password: "p", Logger: quiet()}), Limits{}, quiet())
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	_, port, _ := strings.Cut(listener.Addr().String(), ":")
	return port
}

// tool skips the test where a program is not installed.
func tool(t *testing.T, name, hint string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed (%s)", name, hint)
	}
	return path
}

func TestSupervisorctlIsContentWithTheAnswers(t *testing.T) {
	t.Parallel()
	ctl := tool(t, "supervisorctl", "Debian package supervisor")
	f := newFake()
	f.log = "a line\n"
	f.follow = func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, "followed\n")
		return err
	}
	port := passwordServer(t, f)
	conf := filepath.Join(t.TempDir(), "supervisord.conf")
	if err := os.WriteFile(conf, []byte("[supervisorctl]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		command, want string
		exit          int
	}{
		{"version", "dev\n", 0},
		{"status", "api:start                        RUNNING   pid 12, uptime 0:00:03\n", 0},
		{"start api:start", "api:start: started\n", 0},
		{"start api:*", "api:start: started\n", 0},
		{"start all", "api:start: started\n", 0},
		{"stop api:start", "api:start: stopped\n", 0},
		{"stop all", "api:start: stopped\n", 0},
		{"restart api:start", "api:start: stopped\napi:start: started\n", 0},
		{"signal HUP api:start", "api:start: signalled\n", 0},
		{"pid", "1\n", 0},
		{"pid api:start", "12\n", 0},
		{"tail api:start", "a line\n\n", 0},
		{"tail api:start stderr", "a line\n\n", 0},
		{"tail -f api:start", "==> Press Ctrl-C to exit <==\nfollowed\n", 0},
		{"maintail", "a line\n\n", 0},
		{"clear api:start", "api:start: cleared\n", 0},
		{"clear all", "api:start: cleared\n", 0},
		{"avail", "api:start                        in use    manual    0:0\n", 0},
		{"reread", "a: available\nb: disappeared\nc: disappeared\n", 0},
		{"add a", "a: added process group\n", 0},
		{"remove b", "b: removed process group\n", 0},
		{"reload", "Restarted supervisord\n", 0},
		{"shutdown", "Shut down\n", 0},
	} {
		t.Run(tt.command, func(t *testing.T) {
			t.Parallel()
			args := []string{"-c", conf, "-s", "http://127.0.0.1:" + port, "-u", "u", "-p", "p"}
			got, exit := ran(t, exec.CommandContext(t.Context(), ctl, append(args, strings.Fields(tt.command)...)...))
			if got != tt.want || exit != tt.exit {
				t.Errorf("exit %d, %q, want %d, %q", exit, got, tt.exit, tt.want)
			}
		})
	}
}

func ran(t *testing.T, cmd *exec.Cmd) (string, int) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func TestPythonsClientReadsWhateverALogHolds(t *testing.T) {
	t.Parallel()
	python := tool(t, "python3", "Debian package python3")
	f := newFake()
	raw := make([]byte, 256)
	for i := range raw {
		raw[i] = byte(i)
	}
	f.log = string(raw)
	port := passwordServer(t, f)
	got, exit := ran(t, exec.CommandContext(t.Context(), python, "-c", `
import sys, xmlrpc.client
unit = xmlrpc.client.ServerProxy("http://u:p@127.0.0.1:" + sys.argv[1])
log = unit.supervisor.readLog(0, 0)
print(len(log), ascii(log[27]), ascii(log[13]), ascii(log[255]))
print(unit.supervisor.tailProcessLog("api:start", 0, 9)[1:])
try:
    unit.supervisor.getProcessInfo(1)
except xmlrpc.client.Fault as fault:
    print(fault.faultCode)
print(unit.system.multicall([{"methodName": "supervisor.getPID", "params": []}]))
`, port))
	want := "256 '\\u241b' '\\r' '\\ufffd'\n[4294967296, True]\n2\n[1]\n"
	if got != want || exit != 0 {
		t.Errorf("exit %d, got %s, want %s", exit, got, want)
	}
}
