package testunit

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/freeport"
)

// Unit is a unit that runs until the test ends.
type Unit struct {
	Addr   netip.AddrPort
	Folder string // of its own

	t        testing.TB
	conf     string
	env      []string
	password string // of a unit that joins by its environment
	process  *Process
}

// Run runs a unit until the test ends, and returns once the unit responds. config returns the
// unit's configuration for a new folder and the port.
func Run(t testing.TB, password string, config func(folder string, port uint16) []byte) *Unit {
	t.Helper()
	return RunWith(t, config, "SUPERVISORD_PASSWORD="+password)
}

// RunWith is Run with variables for the unit.
func RunWith(t testing.TB, config func(folder string, port uint16) []byte, variables ...string) *Unit {
	t.Helper()
	folder := t.TempDir()
	u := &Unit{
		Addr:   netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(freeport.Find(t))),
		Folder: folder, t: t, conf: filepath.Join(folder, "supervisord.conf"), env: variables,
	}
	if err := os.Mkdir(filepath.Join(folder, "documents"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(u.conf, config(folder, u.Addr.Port()), 0o600); err != nil {
		t.Fatal(err)
	}
	u.start()
	return u
}

// RunJoined runs a unit that joins an application by its environment, until the test ends. programs are sections of its
// configuration, in which DIR is its folder.
func RunJoined(t testing.TB, password, programs string) *Unit {
	t.Helper()
	folder := t.TempDir()
	file := filepath.Join(folder, "password")
	addr := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(freeport.Find(t)))
	u := &Unit{Addr: addr, Folder: folder, t: t, conf: filepath.Join(folder, "supervisord.conf"), password: password, env: []string{
		"TOSKOSE_UNIT_LISTEN=" + addr.String(), "SUPERVISORD_PASSWORD_FILE=" + file,
	}}
	err := errors.Join(os.Mkdir(filepath.Join(folder, "documents"), 0o700), os.WriteFile(file, []byte(password), 0o400))
	if err != nil {
		t.Fatal(err)
	}
	u.Configure(programs)
	u.start()
	return u
}

// Call calls a method of Supervisor's API, whose parameters are texts, on a unit that RunJoined has started.
func (u *Unit) Call(method string, parameters ...string) {
	u.t.Helper()
	body := "<methodCall><methodName>" + method + "</methodName><params>"
	for _, p := range parameters {
		body += "<param><value><string>" + p + "</string></value></param>"
	}
	req, err := http.NewRequestWithContext(u.t.Context(), http.MethodPost, "http://"+u.Addr.String()+"/RPC2", strings.NewReader(body+"</params></methodCall>"))
	if err != nil {
		u.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "text/xml")
	req.SetBasicAuth("admin", u.password)
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		u.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK || strings.Contains(string(text), "<fault>") {
		u.t.Fatalf("%s %q: %s, %s, %v", method, parameters, answer.Status, text, err)
	}
}

// Configure replaces the programs of a unit that RunJoined has started; a reload puts them in use.
func (u *Unit) Configure(programs string) {
	u.t.Helper()
	const server = "[supervisord]\nnodaemon=true\nlogfile=DIR/unit.log\npidfile=DIR/unit.pid\nchildlogdir=DIR\n" +
		"toskose_journal=DIR/journal\ntoskose_documents=DIR/documents\n"
	if err := os.WriteFile(u.conf, []byte(strings.ReplaceAll(server+programs, "DIR", u.Folder)), 0o600); err != nil {
		u.t.Fatal(err)
	}
}

func (u *Unit) start() {
	u.t.Helper()
	u.process = Start(u.t, u.env, Shipped(u.t), "-c", u.conf)
	AwaitHealth(u.t, u.Addr)
}

// Crash kills the unit and starts it again on its files. Its programs must have exited before.
func (u *Unit) Crash() {
	u.t.Helper()
	u.Kill()
	u.start()
}

// Restart stops the unit, as stopping its container does, and starts it again on its files.
func (u *Unit) Restart() {
	u.t.Helper()
	u.process.Stop()
	u.start()
}

// Kill kills the unit, whose programs have to have ended by themselves.
func (u *Unit) Kill() {
	u.t.Helper()
	_ = u.process.end(syscall.SIGKILL) // its exit says that it was killed
}

// Process is a process that runs until the test ends. If the test fails, it logs the process's
// output.
type Process struct {
	t      testing.TB
	cmd    *exec.Cmd
	output Output
	ended  bool
}

// Start starts a process with variables in addition to the environment of the test.
func Start(t testing.TB, variables []string, words ...string) *Process {
	t.Helper()
	p := &Process{t: t, cmd: exec.Command(words[0], words[1:]...)} //nolint:noctx // it is ended by TERM, as a container's is
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = append(os.Environ(), variables...), &p.output, &p.output
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

// Stop stops the process with TERM, as the end of the test does.
func (p *Process) Stop() {
	var err error
	if !p.ended {
		err = p.end(syscall.SIGTERM)
	}
	if err != nil || p.t.Failed() {
		p.t.Logf("%s: %v\n%s", filepath.Base(p.cmd.Path), err, &p.output)
	}
}

func (p *Process) end(by os.Signal) error {
	p.ended = true
	_ = p.cmd.Process.Signal(by) // it may have ended by itself
	return p.cmd.Wait()
}

// AwaitHealth waits until a server answers /healthz, with any status.
func AwaitHealth(t testing.TB, addr netip.AddrPort) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr.String()+"/healthz", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(req)
		if err == nil {
			answer.Body.Close()
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("nothing answers at %s: %v", addr, err)
		}
		time.Sleep(10 * time.Millisecond) // there is nothing else to wait on
	}
}
