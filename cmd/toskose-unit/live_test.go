package main_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toskose/toskose/unit/wire"
)

// checkedProgram is a program of a joined unit, with liveness checks that are made quickly.
func checkedProgram(t *testing.T, check, then string) *container {
	t.Helper()
	return joinedContainer(t, fmt.Sprintf(`[program:web]
command=sleep 1000
startsecs=0
%s
toskose_live_interval=0.1
toskose_live_timeout=0.05
toskose_live_failures=2
toskose_live_then=%s
[program:other]
command=sleep 1000
startsecs=0
`, check, then))
}

// answering serves HTTP with the status that the result holds.
func answering(t *testing.T) (address string, status *atomic.Int64) {
	t.Helper()
	status = &atomic.Int64{}
	status.Store(http.StatusOK)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if status.Load() == 0 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(int(status.Load()))
		fmt.Fprint(w, "all is well")
	}))
	t.Cleanup(server.Close)
	return server.URL, status
}

// TestAProgramThatAnswers500IsRestarted although its process runs, in the same container.
func TestAProgramThatAnswers500IsRestarted(t *testing.T) {
	t.Parallel()
	address, status := answering(t)
	c := checkedProgram(t, "toskose_live_http="+address, "restart")
	c.becomes("web", "running", wire.EntryRunning)
	var before, after, other wire.ProcessInfo
	for name, info := range map[string]*wire.ProcessInfo{"web": &before, "other": &other} {
		if err := c.call(info, "supervisor.getProcessInfo", name); err != nil {
			t.Fatal(err)
		}
	}
	status.Store(http.StatusInternalServerError)
	e := c.becomes("web", "stopped", wire.EntryGone)
	if !strings.Contains(e.Why, "which was not live") || !strings.Contains(e.Why, `it answers "500 Internal Server Error"`) {
		t.Errorf("the reason is %q", e.Why)
	}
	status.Store(http.StatusOK)
	c.journal(func(x wire.Entry) bool { return x.Seq > e.Seq && x.Component == "web" && x.Kind == wire.EntryRunning })
	if err := c.call(&after, "supervisor.getProcessInfo", "web"); err != nil || after.PID == before.PID {
		t.Errorf("it is process %d still: %v", after.PID, err)
	}
	if err := c.call(&after, "supervisor.getProcessInfo", "other"); err != nil || after.PID != other.PID {
		t.Errorf("another program was restarted, too: %v", err)
	}
	if n := c.sample("toskose_program_live_failures_total", "component", "web"); n < 2 {
		t.Errorf("%v failures are counted", n)
	}
}

// TestAHangThatIsReportedEnds when the program answers again; nothing is restarted.
func TestAHangThatIsReportedEnds(t *testing.T) {
	t.Parallel()
	for name, check := range map[string]string{
		"an answer":      "toskose_live_http=ADDRESS",
		"another status": "toskose_live_http=ADDRESS\ntoskose_live_status=200-299",
		"a text":         "toskose_live_http=ADDRESS\ntoskose_live_text=is well",
		"a command":      `toskose_live_command=/bin/sh -c 'test ! -e DIR/hangs || exec sleep 1000'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, status := answering(t)
			c := checkedProgram(t, strings.ReplaceAll(check, "ADDRESS", address), "report")
			c.becomes("web", "running", wire.EntryRunning)
			status.Store(0)
			c.write("hangs", "")
			e := c.journal(func(e wire.Entry) bool { return e.Kind == wire.EntryLive })
			if e.Failing == nil || e.State != "running" || !strings.Contains(e.Why, "it is not live: 2 checks failed; the last: ") {
				t.Errorf("it fails: %+v", e)
			}
			if f := c.component("web").Failing; f == nil || f.Since.IsZero() || f.Why == "" {
				t.Errorf("the component is failing: %+v", f)
			}
			if code, output := command(t, c.env, "health", "--programs"); code != 1 || !strings.Contains(output, "503") {
				t.Errorf("health --programs: exit code %d: %s", code, output)
			}
			if code, output := command(t, c.env, "health"); code != 0 {
				t.Errorf("health of the unit itself: exit code %d: %s", code, output)
			}
			if live := c.sample("toskose_program_live", "component", "web"); live != 0 {
				t.Errorf("toskose_program_live is %v", live)
			}
			status.Store(http.StatusOK)

			if err := os.Remove(filepath.Join(c.dir, "hangs")); err != nil {
				t.Fatal(err)
			}
			again := c.journal(func(x wire.Entry) bool { return x.Kind == wire.EntryLive && x.Seq > e.Seq })
			if again.Failing != nil || c.component("web").Failing != nil {
				t.Errorf("it does not end: %+v", again)
			}
			if code, output := command(t, c.env, "health", "--programs"); code != 0 {
				t.Errorf("health --programs: exit code %d: %s", code, output)
			}
		})
	}
}

// TestAUnitEndsForAProgramThatIsNotLive so that the orchestrator replaces the container.
func TestAUnitEndsForAProgramThatIsNotLive(t *testing.T) {
	t.Parallel()
	address, status := answering(t)
	c := checkedProgram(t, "toskose_live_http="+address, "exit")
	c.becomes("web", "running", wire.EntryRunning)
	status.Store(http.StatusInternalServerError)
	<-c.exited
	if code := c.cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(c.stderr.String(), "web:web is not live: 2 checks failed") {
		t.Errorf("exit code %d", code)
	}
}

// TestAComponentThatIsNotLiveFallsBack to the state of its protocol, from which a goal starts it again.
func TestAComponentThatIsNotLiveFallsBack(t *testing.T) {
	t.Parallel()
	address, status := answering(t)
	c := newContainer(t, component("api", map[string]string{"start": "exec sleep 1000"}, "toskose_live_http="+address+
		"\ntoskose_live_interval=0.1\ntoskose_live_timeout=0.05\ntoskose_live_failures=2\nstopwaitsecs=10\nstartsecs=0")).boot()
	for _, operation := range []string{"create", "configure", "start"} {
		c.run("api", operation)
	}
	status.Store(http.StatusInternalServerError)
	if e := c.journal(func(e wire.Entry) bool { return e.Kind == wire.EntryGone }); e.State != "configured" || !strings.Contains(e.Why, "not live") {
		t.Errorf("it falls to %s: %q", e.State, e.Why)
	}
	if component := c.component("api"); component.Open || component.Failing != nil {
		t.Errorf("it is %+v", component)
	}
}
