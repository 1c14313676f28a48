package main_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/freeport"
	"github.com/toskose/toskose/unit/wire"
)

// notifyEnv makes this test's binary a program that says so to its unit, or to
// the socket in a file, and then sleeps.
const notifyEnv = "TOSKOSE_TEST_NOTIFY"

func becomeNotifier(message string) int {
	address := os.Getenv("NOTIFY_SOCKET")
	if len(os.Args) > 1 {
		data, err := os.ReadFile(os.Args[1])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		address = strings.TrimSpace(string(data))
	}
	if address == "" {
		forever() // it is checked otherwise
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: address, Net: "unixgram"})
	if err == nil {
		_, err = conn.Write([]byte(message))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("sent")
	forever()
	return 0
}

// forever is no empty select: with nothing else to wait for, that is a deadlock.
func forever() {
	for {
		time.Sleep(time.Hour)
	}
}

// slowly is a program that is up at once, and ready once there is a file go.
var slowly = `/bin/sh -c 'echo "$NOTIFY_SOCKET" > up; while [ ! -e go ]; do sleep 0.02; done; ` +
	`echo "now ready 1" >&2; exec ` + os.Args[0] + `'`

// plain returns the section of an ordinary program that is started by a call.
func plain(name, command, keys string) string {
	return fmt.Sprintf("[program:%s]\ncommand=%s\ndirectory=DIR\nautostart=false\nstartsecs=0\nstartretries=0\n%s\n", name, command, keys)
}

// untilState waits for a state of a process.
func (c *container) untilState(name string, want wire.ProcessState) wire.ProcessInfo {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		info := c.info(name)
		if info.State == want {
			return info
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			c.t.Fatalf("%s is %s (%s), never %s", name, info.StateName, info.Description, want)
		}
	}
}

// later begins a call whose fault comes when it is answered.
func (c *container) later(method string, args ...any) <-chan error {
	answer := make(chan error, 1)
	go func() { answer <- c.call(nil, method, args...) }()
	return answer
}

func TestAProgramIsRunningWhenItsCheckPasses(t *testing.T) {
	t.Parallel()
	port := freeport.Find(t)
	var status atomic.Int64
	status.Store(http.StatusServiceUnavailable)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/health" {
			w.WriteHeader(int(status.Load()))
		}
	})}
	web, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(web) }()
	t.Cleanup(func() { server.Close() })

	for name, kind := range map[string]struct {
		keys    string
		release func(t *testing.T)
	}{
		"tcp": {"toskose_ready_tcp=" + strconv.Itoa(port), func(t *testing.T) {
			l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
		}},
		"http":        {"toskose_ready_http=http://" + web.Addr().String() + "/health", func(*testing.T) { status.Store(http.StatusNoContent) }},
		"command":     {`toskose_ready_command=/bin/sh -c "test -e go && [ $SUPERVISOR_PROCESS_NAME = slow ]"`, nil},
		"log":         {`toskose_ready_log=^now ready \d$`, nil},
		"notify":      {"toskose_ready_notify=true", nil},
		"all at once": {"toskose_ready_notify=true\ntoskose_ready_log=ready\ntoskose_ready_command=test -e go", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newContainer(t, plain("slow", slowly, kind.keys+"\ntoskose_ready_interval=0.02\nenvironment="+notifyEnv+`="READY=1"`)).boot()
			started := c.later("supervisor.startProcess", "slow")
			c.until("up", "\n")
			if info := c.info("slow"); info.State != wire.Starting {
				t.Errorf("before it is ready: %+v", info)
			}
			c.write("go", "")
			if kind.release != nil {
				kind.release(t)
			}
			if err := <-started; err != nil {
				t.Error(err)
			}
			if info := c.info("slow"); info.State != wire.Running {
				t.Errorf("it is %s (%s)", info.StateName, info.Description)
			}
			c.terminate()
		})
	}
}

// withinLimits tries what has to happen before a unit's limit under a short one,
// and where the machine was too slow for it, under longer ones.
func withinLimits(t *testing.T, try func(limit string) error) {
	t.Helper()
	var err error
	for _, limit := range []string{"1s", "5s", "30s"} {
		if err = try(limit); err == nil {
			return
		}
	}
	t.Error(err)
}

func TestAProgramThatNeverBecomesReadyIsGivenUp(t *testing.T) {
	t.Parallel()
	port := strconv.Itoa(freeport.Find(t))
	for name, check := range map[string]struct{ keys, says string }{
		"tcp":                         {"toskose_ready_tcp=" + port, "not ready after LIMIT: tcp 127.0.0.1:" + port + ": connection refused"},
		"http":                        {"toskose_ready_http=http://localhost:" + port, "http://localhost:" + port + ": "},
		"command":                     {`toskose_ready_command=/bin/sh -c "echo checked >> up; echo too early; exit 3"`, `exit code 3: "too early"`},
		"a command that hangs":        {"toskose_ready_command=sleep 1000", "command sleep 1000: it did not end in time"},
		"a command that is not there": {"toskose_ready_command=/nowhere", "/nowhere"},
		"log":                         {"toskose_ready_log=never", `log line "never": no such line appeared`},
		"notify":                      {"toskose_ready_notify=true", "notification: it never sent READY=1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			withinLimits(t, func(limit string) error {
				keys := fmt.Sprintf("%s\ntoskose_ready_timeout=%s\ntoskose_ready_interval=0.02", check.keys, strings.TrimSuffix(limit, "s"))
				c := newContainer(t, plain("never", slowly, keys)).boot()
				fault(t, c.call(nil, "supervisor.startProcess", "never"), wire.SpawnError)
				info := c.untilState("never", wire.Fatal)
				c.isEmpty()
				if says := strings.ReplaceAll(check.says, "LIMIT", limit); !strings.Contains(info.SpawnErr, says) || info.PID != 0 {
					return fmt.Errorf("%+v, want spawnerr %q", info, says)
				}
				return nil
			})
		})
	}
}

// isEmpty checks that no process but the unit lives.
func (c *container) isEmpty() {
	c.t.Helper()
	s := c.snapshot()
	for _, component := range s.Components {
		s.Unclaimed = append(s.Unclaimed, component.Processes...)
	}
	for _, p := range s.Unclaimed {
		if !p.Zombie {
			c.t.Errorf("a process is left: %+v", p)
		}
	}
}

func TestAProgramThatDiesBeforeItIsReadyHasNotStarted(t *testing.T) {
	t.Parallel()
	c := newContainer(t, plain("dies", `/bin/sh -c 'echo up >> up; exit 0'`, "startretries=1\ntoskose_ready_notify=true\nautorestart=true")).boot()
	fault(t, c.call(nil, "supervisor.startProcess", "dies"), wire.SpawnError)
	info := c.untilState("dies", wire.Fatal)
	if info.SpawnErr != "Exited before it was ready, with exit code 0" || c.read("up") != "up\nup\n" {
		t.Errorf("%+v after %q", info, c.read("up"))
	}
}

func TestAProgramThatSaysItIsStoppingIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	c := newContainer(t, plain("stopping", os.Args[0], "toskose_ready_notify=true\nenvironment="+notifyEnv+`="STOPPING=1"`)).boot()
	fault(t, c.call(nil, "supervisor.startProcess", "stopping"), wire.SpawnError)
	if info := c.untilState("stopping", wire.Fatal); info.SpawnErr != "not ready: notification: it reported that it is stopping" {
		t.Errorf("%+v", info)
	}
}

func TestOnlyAProgramsOwnProcessesSayThatItIsReady(t *testing.T) {
	t.Parallel()
	c := newContainer(t, plain("mine", slowly, "toskose_ready_notify=true\nenvironment="+notifyEnv+`="READY=1"`)+
		plain("stranger", os.Args[0]+" DIR/up", "environment="+notifyEnv+`="READY=1"`+"\nstdout_logfile=DIR/stranger.log")).boot()
	started := c.later("supervisor.startProcess", "mine")
	c.until("up", "@")
	if err := c.call(nil, "supervisor.startProcess", "stranger"); err != nil {
		t.Fatal(err)
	}
	c.until("unit.log", "not from a process of the program")
	if info := c.info("mine"); info.State != wire.Starting {
		t.Errorf("it is %s by the word of a stranger", info.StateName)
	}
	c.write("go", "")
	if err := <-started; err != nil {
		t.Error(err)
	}
}

func TestAStopMeetsAProgramThatIsNotReadyYet(t *testing.T) {
	t.Parallel()
	c := newContainer(t, plain("slow", slowly, `toskose_ready_command=/bin/sh -c "setsid sleep 1000 & echo on > checking; sleep 1000"`)).boot()
	started := c.later("supervisor.startProcess", "slow")
	c.until("checking", "on")
	if err := c.call(nil, "supervisor.stopProcess", "slow"); err != nil {
		t.Error(err)
	}
	fault(t, <-started, wire.AbnormalTermination)
	if info := c.info("slow"); info.State != wire.Stopped {
		t.Errorf("%+v", info)
	}
	c.isEmpty()
}

func TestAStopMeetsAProgramThatIsGivenUpAndIsNotStartedAgain(t *testing.T) {
	t.Parallel()
	withinLimits(t, func(limit string) error {
		c := newContainer(t, plain("slow", `/bin/sh -c 'trap "while [ ! -e end ]; do sleep 0.02; done; exit 0" TERM; echo up >> up; while :; do sleep 0.02; done'`,
			"startretries=5\nstopwaitsecs=600\ntoskose_ready_log=never\ntoskose_ready_timeout="+strings.TrimSuffix(limit, "s"))).boot()
		fault(t, c.call(nil, "supervisor.startProcess", "slow"), wire.SpawnError)
		if c.read("up") == "" {
			return errors.New("it was given up before it was up")
		}
		if info := c.info("slow"); info.State != wire.Stopping {
			t.Errorf("it is %s", info.StateName)
		}
		if err := c.call(nil, "supervisor.stopProcess", "slow", false); err != nil {
			t.Error(err)
		}
		c.write("end", "")
		c.untilState("slow", wire.Stopped)
		if c.read("up") != "up\n" {
			t.Errorf("starts: %q", c.read("up"))
		}
		return nil
	})
}

func TestAStartSucceedsWhenItIsReady(t *testing.T) {
	t.Parallel()
	const wait = `while [ ! -e go ]; do sleep 0.02; done; echo ready; `
	for name, script := range map[string]string{
		"in the foreground": `echo up > up; ` + wait + `exec sleep 1000`,
		"as a daemon":       `(` + wait + `exec sleep 1000) & echo up > up`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newContainer(t, component("api", map[string]string{"start": script}, "startsecs=0\ntoskose_ready_log=^ready$")).boot()
			x, err := c.execute("api", "start", nil)
			if err != nil {
				t.Fatal(err)
			}
			c.until("up", "up")
			if info := c.info("api:start"); info.State != wire.Starting {
				t.Errorf("before it is ready: %+v", info)
			}
			c.wants("api", "deleted")
			if strings.HasPrefix(name, "as a daemon") {
				c.until("unit.log", "process ended") // and is none of those that are counted
			}
			c.write("go", "")
			outcome(t, c.end(x.ID), wire.OutcomeSucceeded)
			if api := c.wants("api", "running"); len(api.Processes) != 1 {
				t.Errorf("processes: %+v", api.Processes)
			}
		})
	}
}

func TestAStartThatDoesNotBecomeReadyFailsAndSaysWhy(t *testing.T) {
	t.Parallel()
	port := strconv.Itoa(freeport.Find(t))
	for name, c := range map[string]struct{ script, reason string }{
		"in the foreground":    {"exec sleep 1000", "not ready after LIMIT: tcp 127.0.0.1:" + port + ": connection refused"},
		"as a daemon":          {daemon, "not ready after LIMIT: tcp 127.0.0.1:" + port + ": connection refused"},
		"leaving no process":   {"exit 0", "it exited before it was ready and left no descendants"},
		"as it ends otherwise": {"exit 4", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			withinLimits(t, func(limit string) error {
				unit := newContainer(t, component("api", map[string]string{"start": c.script},
					"toskose_ready_tcp="+port+"\ntoskose_ready_timeout="+strings.TrimSuffix(limit, "s"))).boot()
				start := unit.run("api", "start")
				outcome(t, start, wire.OutcomeFailed)
				unit.wants("api", "deleted")
				unit.isEmpty()
				if reason := strings.ReplaceAll(c.reason, "LIMIT", limit); start.Reason != reason {
					return fmt.Errorf("reason %q, want %q", start.Reason, reason)
				}
				return nil
			})
		})
	}
}

func TestAStartMaySayThatItIsReadyWithItsLastLine(t *testing.T) {
	t.Parallel()
	c := newContainer(t, component("api", map[string]string{"start": "echo done"}, "toskose_ready_log=^done$")).boot()
	for range 5 {
		outcome(t, c.run("api", "start"), wire.OutcomeSucceeded)
		outcome(t, c.run("api", "stop"), wire.OutcomeSucceeded)
	}
}

func TestAnExecutionThatWaitsForReadinessCanBeCancelled(t *testing.T) {
	t.Parallel()
	c := newContainer(t, component("api", map[string]string{"start": daemon}, "toskose_ready_log=never")).boot()
	x, err := c.execute("api", "start", nil)
	if err != nil {
		t.Fatal(err)
	}
	c.until("pid", "\n")
	var ended wire.Execution
	if err := c.ask(&ended, http.MethodDelete, "/executions/"+x.ID, nil); err != nil {
		t.Fatal(err)
	}
	outcome(t, ended, wire.OutcomeCancelled)
	c.isEmpty()
	c.terminate()
}
