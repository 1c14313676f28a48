package main_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kolo/xmlrpc"

	"github.com/toskose/toskose/internal/freeport"
	"github.com/toskose/toskose/internal/testunit"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/reaper/reapertest"
	"github.com/toskose/toskose/unit/wire"
)

// initEnv makes this test's binary the first process of a PID namespace, which
// mounts its own /proc and becomes the unit.
const initEnv = "TOSKOSE_TEST_INIT"

// patience is how long a test waits for what must happen.
const patience = time.Minute

var unitBinary string

func TestMain(m *testing.M) {
	reapertest.Help()
	if unit := os.Getenv(initEnv); unit != "" {
		os.Exit(becomeInit(unit))
	}
	if message := os.Getenv(notifyEnv); message != "" {
		os.Exit(becomeNotifier(message))
	}
	if dir := os.Getenv(earEnv); dir != "" {
		os.Exit(becomeListener(dir))
	}
	dir, err := os.MkdirTemp("", "toskose-unit")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	unitBinary = filepath.Join(dir, "toskose-unit")
	code := 1
	if err := copyUnit(unitBinary); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// copyUnit puts the unit where any user can execute it.
func copyUnit(to string) error {
	unit, err := testunit.AsStrict(context.Background())
	if err != nil {
		return err
	}
	data, err := os.ReadFile(unit)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}

func becomeInit(unit string) int {
	if os.Getpid() == 1 {
		for _, mount := range []func() error{
			func() error { return syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "") },
			func() error { return syscall.Mount("proc", "/proc", "proc", 0, "") },
		} {
			if err := mount(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
		}
	}
	if err := errors.Join(confine(), hardships()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_ = os.Unsetenv(initEnv)
	fmt.Fprintln(os.Stderr, syscall.Exec(unit, append([]string{unit}, os.Args[1:]...), os.Environ()))
	return 1
}

// container is a unit as PID 1 of a namespace of its own, where the tests may
// make one, else as a subreaper.
type container struct {
	t      *testing.T
	dir    string
	port   int
	cmd    *exec.Cmd
	exited chan struct{}
	stderr *bytes.Buffer
	adapt  func(*exec.Cmd) // before it starts; nil: as it is
	stdout io.Writer       // nil: nowhere
	client *http.Client    // nil: plain HTTP
	prefix []string        // a command that becomes the unit
	env    []string        // beside the rest

	password string
}

// newContainer lays out a folder with a configuration; sections may use DIR for
// it. Nothing runs yet.
func newContainer(t *testing.T, sections string) *container {
	t.Helper()
	c := &container{t: t, dir: t.TempDir(), port: freeport.Find(t), password: "secret"}
	conf := fmt.Sprintf(`[supervisord]
nodaemon=true
logfile=DIR/unit.log
pidfile=DIR/unit.pid
childlogdir=DIR
toskose_journal=DIR/journal
[inet_http_server]
port=127.0.0.1:%d
username=admin
toskose_auth=required
%s`, c.port, sections)
	c.write("supervisord.conf", strings.ReplaceAll(conf, "DIR", c.dir))
	return c
}

// write writes a file that can be executed, also at once: no child is forked
// meanwhile that would have it open for writing, until it executes itself.
func (c *container) write(name, text string) {
	c.t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o755); err != nil {
		c.t.Fatal(err)
	}
}

func (c *container) read(name string) string {
	data, _ := os.ReadFile(filepath.Join(c.dir, name))
	return string(data)
}

// component returns the sections of a component with the standard protocol whose
// operations run shell scripts. Options are added to each program. The grace of a
// stop is longer than any test, unless they say another.
func component(name string, scripts map[string]string, options string) string {
	var b strings.Builder
	if !strings.Contains(options, "stopwaitsecs=") {
		options = "stopwaitsecs=600\n" + options
	}
	encoded, _ := json.Marshal(protocol.Software())
	fmt.Fprintf(&b, "[toskose:component:%s]\ntoskose_protocol=%s\n", name, encoded)
	var programs []string
	for operation, script := range scripts {
		kind := "run"
		if operation == "start" || operation == "stop" {
			kind = operation
		}
		programs = append(programs, name+"."+operation)
		fmt.Fprintf(&b, `[program:%s.%s]
process_name=%s
command=/bin/sh -c '%s'
directory=DIR
autostart=false
autorestart=false
startretries=0
toskose_component=%s
toskose_interface=Standard
toskose_operation=%s
%s
`, name, operation, operation, strings.ReplaceAll(script, "%", "%%"), name, kind, options)
	}
	fmt.Fprintf(&b, "[group:%s]\nprograms=%s\n", name, strings.Join(programs, ","))
	return b.String()
}

// boot starts the unit and waits until it answers.
func (c *container) boot() *container {
	c.t.Helper()
	c.launch()
	c.journal(func(e wire.Entry) bool { return e.Kind == wire.EntryBoot })
	return c
}

// launch starts the unit.
func (c *container) launch() {
	c.t.Helper()
	argv := append(append([]string{}, c.prefix...), os.Args[0], "-c", filepath.Join(c.dir, "supervisord.conf"))
	c.cmd = exec.Command(argv[0], argv[1:]...)
	c.cmd.Env = append(os.Environ(), initEnv+"="+unitBinary, "SUPERVISORD_PASSWORD=secret", "TOSKOSE_LABEL_HOST=h1",
		testunit.EndsAtOnce)
	c.stderr = &bytes.Buffer{}
	c.cmd.Stderr, c.cmd.Stdout = c.stderr, c.stdout
	c.cmd.Env = append(c.cmd.Env, c.env...)
	if os.Geteuid() == 0 {
		c.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	}
	if c.adapt != nil {
		c.adapt(c.cmd)
	}
	if err := c.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	exited := make(chan struct{})
	c.exited = exited
	go func() {
		_ = c.cmd.Wait()
		close(exited)
	}()
	c.t.Cleanup(c.kill)
}

func (c *container) kill() {
	how := "was there"
	select {
	case <-c.exited:
		how = "had ended by itself with " + c.cmd.ProcessState.String()
	default:
	}
	_ = c.cmd.Process.Kill()
	<-c.exited
	if strings.Contains(c.stderr.String(), "DATA RACE") {
		c.t.Error("the unit has a data race")
	}
	if c.t.Failed() {
		c.t.Logf("the unit %s, and wrote:\n%s", how, c.stderr)
	}
}

// terminate asks the unit to end, and says how long that took.
func (c *container) terminate() time.Duration {
	c.t.Helper()
	begun := time.Now()
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		c.t.Fatal(err)
	}
	select {
	case <-c.exited:
	case <-time.After(patience):
		c.t.Fatal("the unit did not end")
	}
	if strings.Contains(c.stderr.String(), "DATA RACE") {
		c.t.Errorf("the unit has a data race:\n%s", c.stderr)
	}
	if code := c.cmd.ProcessState.ExitCode(); code != 0 {
		c.t.Errorf("exit code %d, want 0", code)
	}
	return time.Since(begun)
}

// patient is a client that gives up, other than the default one, and that has a
// connection for each request: one that was made for another request, and kept,
// the unit may be closing when it is used at last.
var patient = &http.Client{Timeout: 3 * patience, Transport: &http.Transport{DisableKeepAlives: true}}

func (c *container) request(method, path string, body []byte) (*http.Response, error) {
	scheme, client := "http", patient
	if c.client != nil {
		scheme, client = "https", c.client
	}
	request, err := http.NewRequest(method, fmt.Sprintf("%s://127.0.0.1:%d%s", scheme, c.port, path), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.SetBasicAuth("admin", c.password)
	switch {
	case path == "/RPC2":
		request.Header.Set("Content-Type", "text/xml")
	case body != nil:
		request.Header.Set("Content-Type", "application/json")
	}
	return client.Do(request)
}

// call makes an XML-RPC call; the error is the fault.
func (c *container) call(result any, method string, args ...any) error {
	c.t.Helper()
	body, err := xmlrpc.EncodeMethodCall(method, args...)
	if err != nil {
		c.t.Fatal(err)
	}
	response, err := c.request(http.MethodPost, "/RPC2", body)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		c.t.Fatalf("%s: %s %v\n%s", method, response.Status, err, data)
	}
	answer := xmlrpc.Response(data)
	if err := answer.Err(); err != nil {
		return err
	}
	if result == nil {
		return nil
	}
	var plain any
	if err := answer.Unmarshal(&plain); err != nil {
		c.t.Fatal(err)
	}
	text, err := json.Marshal(plain)
	if err == nil {
		err = json.Unmarshal(text, result)
	}
	if err != nil {
		c.t.Fatalf("%s answers %s: %v", method, text, err)
	}
	return nil
}

// ask makes a request of the JSON API; the error is the fault.
func (c *container) ask(result any, method, path string, body any) error {
	c.t.Helper()
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			c.t.Fatal(err)
		}
	}
	response, err := c.request(method, path, text)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	var problem wire.Problem
	if response.StatusCode >= http.StatusBadRequest {
		result = &problem
	}
	if err := json.NewDecoder(response.Body).Decode(result); err != nil {
		c.t.Fatalf("%s %s: %s: %v", method, path, response.Status, err)
	}
	if problem.Code == "" {
		return nil
	}
	return &wire.Fault{
		Code: wire.FaultNamed(problem.Code), Detail: problem.Detail, Instance: problem.UnitInstance, Component: problem.Component,
	}
}

// snapshot asks for the components and for all processes.
func (c *container) snapshot() wire.Snapshot {
	c.t.Helper()
	var s wire.Snapshot
	if err := c.ask(&s, http.MethodGet, "/components?processes=true", nil); err != nil {
		c.t.Fatal(err)
	}
	return s
}

// execute begins an operation.
func (c *container) execute(component, operation string, more map[string]any) (wire.Execution, error) {
	c.t.Helper()
	request := map[string]any{"id": rand.Text(), "component": component, "operation": operation}
	for key, value := range more {
		request[key] = value
	}
	var x wire.Execution
	err := c.ask(&x, http.MethodPost, "/executions", request)
	return x, err
}

// run executes an operation to its end.
func (c *container) run(component, operation string) wire.Execution {
	c.t.Helper()
	x, err := c.execute(component, operation, nil)
	if err != nil {
		c.t.Fatalf("%s of %s: %v", operation, component, err)
	}
	return c.end(x.ID)
}

// end waits for the end of an execution.
func (c *container) end(id string) wire.Execution {
	c.t.Helper()
	for end := time.Now().Add(patience); ; {
		var x wire.Execution
		if err := c.ask(&x, http.MethodGet, "/executions/"+id+"?wait=2s", nil); err != nil {
			c.t.Fatal(err)
		}
		if x.Outcome.Done() {
			return x
		}
		if time.Now().After(end) {
			c.t.Fatalf("it does not end: %+v", x)
		}
	}
}

func (c *container) component(name string) wire.Component {
	c.t.Helper()
	for _, component := range c.snapshot().Components {
		if component.Name == name {
			return component
		}
	}
	c.t.Fatalf("no component is named %s", name)
	return wire.Component{}
}

// journal waits for an entry and gives it.
func (c *container) journal(wanted func(wire.Entry) bool) wire.Entry {
	c.t.Helper()
	cursor := ""
	for end := time.Now().Add(patience); time.Now().Before(end); {
		response, err := c.request(http.MethodGet, "/journal?wait=2s&after="+cursor, nil)
		if err == nil && response.StatusCode != http.StatusOK {
			response.Body.Close()
			err = fmt.Errorf("%s", response.Status)
		}
		if err != nil {
			select {
			case <-c.exited:
				c.t.Fatalf("the unit ended:\n%s", c.stderr)
			case <-time.After(5 * time.Millisecond): // it does not listen yet, or no more
			}
			continue
		}
		lines := bufio.NewScanner(response.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var e wire.Entry
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
				c.t.Fatalf("journal: %v: %s", err, lines.Bytes())
			}
			cursor = e.Instance + ":" + strconv.FormatUint(e.Seq, 10)
			if wanted(e) {
				response.Body.Close()
				return e
			}
		}
		response.Body.Close()
	}
	c.t.Fatal("the journal never had the entry that was waited for")
	return wire.Entry{}
}

// until waits for something in a file that a script writes.
func (c *container) until(file, text string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(c.read(file), text) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			c.t.Fatalf("%s has %q, never %q", file, c.read(file), text)
		}
	}
}

func (c *container) address() string { return fmt.Sprintf("127.0.0.1:%d", c.port) }
