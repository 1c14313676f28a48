package main_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/toskose/toskose/internal/freeport"
	"github.com/toskose/toskose/internal/testunit"
	"github.com/toskose/toskose/unit/wire"
)

// serves waits until the unit serves.
func (c *container) serves() {
	c.t.Helper()
	c.eventually("it answers", func() bool {
		response, err := c.request(http.MethodGet, "/healthz", nil)
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
}

// unread checks what a unit does whose journal cannot be read: everything but
// operations.
func (c *container) unread(why string) {
	c.t.Helper()
	c.serves()
	c.inState("plain", wire.Running)
	if api := c.component("api"); api.State != "unknown" || len(api.Allowed) != 0 || !strings.Contains(api.Why, why) {
		c.t.Errorf("api: %+v", api)
	}
	_, err := c.execute("api", "create", nil)
	fault(c.t, err, wire.JournalUnavailable)
	if err == nil || !strings.Contains(err.Error(), why) {
		c.t.Errorf("an operation: %v", err)
	}
	err = c.call(nil, "supervisor.startProcess", "api:create")
	fault(c.t, err, wire.SpawnError)
	if err == nil || !strings.Contains(err.Error(), why) {
		c.t.Errorf("an operation by Supervisor's call: %v", err)
	}
	var page any
	fault(c.t, c.ask(&page, http.MethodGet, "/journal", nil), wire.JournalUnavailable)
}

func TestAnUnreadableJournalKeepsOnlyOperationsFromStarting(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		make, mend func(c *container) error
		why        string
	}{
		"its folder would be below a file": {
			func(c *container) error { return os.WriteFile(filepath.Join(c.dir, "state"), nil, 0o600) },
			func(c *container) error { return os.Remove(filepath.Join(c.dir, "state")) }, "not a directory",
		},
		"its folder may not be read": {
			func(c *container) error {
				dir := filepath.Join(c.dir, "state", "journal")
				return errors.Join(os.MkdirAll(dir, 0o755), os.Chown(dir, nobody, nobody), os.Chmod(dir, 0))
			},
			func(c *container) error { return os.Chmod(filepath.Join(c.dir, "state", "journal"), 0o755) }, "permission denied",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newContainer(t, component("api", map[string]string{"create": "exit 0"}, "")+plain("plain", "sleep 1000", "autostart=true")).asNobody()
			c.write("supervisord.conf", strings.ReplaceAll(c.read("supervisord.conf"), c.dir+"/journal", c.dir+"/state/journal"))
			if err := tt.make(c); err != nil {
				t.Fatal(err)
			}
			c.launch()
			c.unread(tt.why)
			if log := c.read("unit.log"); !strings.Contains(log, "no operation runs until the journal can be read") || !strings.Contains(log, tt.why) {
				t.Errorf("the log is\n%s", log)
			}
			if err := tt.mend(c); err != nil {
				t.Fatal(err)
			}
			c.boots(1)
			outcome(t, c.run("api", "create"), wire.OutcomeSucceeded)
			c.wants("api", "created")
			c.terminate()
		})
	}
}

func TestOnAReadOnlyRootProgramsRun(t *testing.T) {
	t.Parallel()
	for name, user := range map[string]int{"as root": 0, "as nobody": nobody} {
		for journal, why := range map[string]string{"/state/journal": "read-only file system", "/toskose-unit/journal": "not a directory"} {
			t.Run(name+", "+journal, func(t *testing.T) {
				t.Parallel()
				c := scratch(t)
				c.write("supervisord.conf", fmt.Sprintf(`[supervisord]
nodaemon=true
toskose_journal=%s
[inet_http_server]
port=127.0.0.1:%d
username=admin
toskose_auth=required
[program:plain]
command=/toskose-unit -c /inner.conf
startsecs=0
stdout_logfile=NONE
[program:api.create]
command=/toskose-unit --version
process_name=create
autostart=false
autorestart=false
toskose_component=api
toskose_interface=Standard
toskose_operation=run
[group:api]
programs=api.create
`, journal, c.port))
				c.write("inner.conf", fmt.Sprintf("[supervisord]\nlogfile=NONE\n[inet_http_server]\nport=127.0.0.1:%d\n", freeport.Find(t)))
				c.adapt = func(cmd *exec.Cmd) {
					cmd.Env = append(cmd.Env, initEnv+"=/toskose-unit", rootEnv+"="+c.dir, userEnv+"="+strconv.Itoa(user), testunit.EndsAtOnce)
				}
				c.launch()
				if why == "not a directory" {
					c.unread(why)
				} else {
					c.serves()
					c.inState("plain", wire.Running)
					_, err := c.execute("api", "create", nil)
					fault(t, err, wire.JournalUnavailable)
				}
				c.terminate()
			})
		}
	}
}
