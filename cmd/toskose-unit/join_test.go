package main_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/internal/freeport"
)

// joinEnv returns the variables by which a unit joins an application, and listens on a port of this
// machine. Its password is "secret".
func joinEnv(t *testing.T, port int) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{
		fmt.Sprintf("TOSKOSE_UNIT_LISTEN=127.0.0.1:%d", port), "SUPERVISORD_PASSWORD_FILE=" + file,
		"TOSKOSE_LABEL_HOST=h1", "TOSKOSE_DOCUMENTS_OWNER=owner",
	}
}

// theirs is a configuration that mentions no unit: an API without a password, and a program that
// prints its environment.
const theirs = `[supervisord]
nodaemon=true
logfile=DIR/unit.log
pidfile=DIR/unit.pid
childlogdir=DIR
environment=FROM="%%(ENV_OWN)s"
[inet_http_server]
port=127.0.0.1:%d
[program:web]
command=/bin/sh -c 'env | sort; echo printed; exec sleep 1000'
stdout_logfile=DIR/web.log
`

// TestAUnitJoinsByItsEnvironment as PID 1 of its container, and as a subreaper below an entrypoint.
func TestAUnitJoinsByItsEnvironment(t *testing.T) {
	t.Parallel()
	const entrypoint = `"$0" "$@" & trap "kill $!" TERM; wait $!; wait $!`
	for name, prefix := range map[string][]string{"as the first process": nil, "below an entrypoint": {"/bin/sh", "-c", entrypoint}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newContainer(t, "")
			open := freeport.Find(t)
			c.write("supervisord.conf", strings.ReplaceAll(fmt.Sprintf(theirs, open), "DIR", c.dir))
			c.prefix, c.env = prefix, append(joinEnv(t, c.port), "OWN=exported")
			if prefix != nil {
				c.adapt = func(cmd *exec.Cmd) { cmd.SysProcAttr = nil } // the entrypoint is no init, and the unit a subreaper
			}
			c.launch()
			c.until("web.log", "printed")
			printed := c.read("web.log")
			for _, hidden := range []string{"TOSKOSE_UNIT_", "TOSKOSE_LABEL_", "TOSKOSE_DOCUMENTS_", "SUPERVISORD_"} {
				if strings.Contains(printed, hidden) {
					t.Errorf("a program sees %s:\n%s", hidden, printed)
				}
			}
			if want := fmt.Sprintf("SUPERVISOR_SERVER_URL=http://127.0.0.1:%d\n", open); !strings.Contains(printed, want) || !strings.Contains(printed, "FROM=exported\n") {
				t.Errorf("a program does not see %s or FROM=exported:\n%s", want, printed)
			}
			var version string
			if err := c.call(&version, "supervisor.getSupervisorVersion"); err != nil {
				t.Errorf("with the password of the environment: %v", err)
			}
			c.password = "wrong"
			if response, err := c.request(http.MethodGet, "/instance", nil); err != nil || response.StatusCode != http.StatusUnauthorized {
				t.Errorf("with a wrong password: %v, %v", response, err)
			}
			unprotected := *c
			unprotected.port = open
			if err := unprotected.call(&version, "supervisor.getSupervisorVersion"); err != nil {
				t.Errorf("at the server of the configuration, which has no password: %v", err)
			}
			if code, output := command(t, c.env, "health"); code != 0 {
				t.Errorf("health: exit code %d: %s", code, output)
			}
			c.terminate()
		})
	}
}

// TestProgramsOfAJoinedUnitHaveTheEnvironmentThatSupervisordGives except for the three variables by which a unit
// recognises their descendants. They ignore the same signals up to number 28; the test itself may be started with others.
func TestProgramsOfAJoinedUnitHaveTheEnvironmentThatSupervisordGives(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	printed := map[string]string{}
	t.Run("sides", func(t *testing.T) {
		beside(t, func(t *testing.T, s *side) {
			s.write("supervisord.conf", `[supervisord]
nodaemon=true
logfile=DIR/unit.log
pidfile=DIR/unit.pid
childlogdir=DIR
[program:web]
command=/bin/sh -c 'tr "\\0" "\\n" </proc/$$/environ | sort | grep -v ^TOSKOSE_[CMO]; grep SigIgn /proc/$$/status | tail -c 8; echo printed'
autorestart=false
startsecs=0
stdout_logfile=DIR/web.log
`)
			s.env = append(s.env, "OLDPWD=x", "TOSKOSE_TEST_UNIT=x", "LANG=C", "LC_ALL=", "LC_CTYPE=")
			s.start("-c", "DIR/supervisord.conf")
			text := strings.ReplaceAll(s.await("web.log", "printed"), s.dir, "DIR")
			mu.Lock()
			defer mu.Unlock()
			printed[filepath.Base(t.Name())] = text
		})
	})
	if diff := cmp.Diff(printed["supervisord"], printed["joined"]); diff != "" {
		t.Error(diff)
	}
}

func TestAUnitThatCannotJoinSaysWhy(t *testing.T) {
	t.Parallel()
	conf := configuration(t, "[supervisord]\nlogfile=NONE\n[program:x]\ncommand=true\n")
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		env  []string
		says string
	}{
		"no password":         {[]string{"TOSKOSE_UNIT_LISTEN=:1"}, "TOSKOSE_UNIT_LISTEN=:1: the password of the API is missing; set SUPERVISORD_PASSWORD_FILE"},
		"an empty file":       {[]string{"TOSKOSE_UNIT_LISTEN=:1", "SUPERVISORD_PASSWORD_FILE=" + empty}, "is empty"},
		"no file":             {[]string{"TOSKOSE_UNIT_LISTEN=:1", "SUPERVISORD_PASSWORD_FILE=/nowhere"}, "cannot read the password: open /nowhere"},
		"no port":             {[]string{"TOSKOSE_UNIT_LISTEN=9001", "SUPERVISORD_PASSWORD=x"}, "TOSKOSE_UNIT_LISTEN=9001: the value is not HOST:PORT or :PORT"},
		"half a certificate":  {[]string{"TOSKOSE_UNIT_LISTEN=:1", "SUPERVISORD_PASSWORD=x", "TOSKOSE_UNIT_TLS_CERT=/c"}, "TOSKOSE_UNIT_TLS_KEY"},
		"no such certificate": {[]string{"TOSKOSE_UNIT_LISTEN=:1", "SUPERVISORD_PASSWORD=x", "TOSKOSE_UNIT_TLS_CERT=/c", "TOSKOSE_UNIT_TLS_KEY=/k"}, "cannot use the certificate /c"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, output := command(t, c.env, "-c", conf)
			if code != 2 || !strings.Contains(output, c.says) {
				t.Errorf("exit code %d, and it does not say %q:\n%s", code, c.says, output)
			}
		})
	}
}

// TestAUnitJoinsByTLS checks its own health by TLS, too.
func TestAUnitJoinsByTLS(t *testing.T) {
	t.Parallel()
	c := newContainer(t, "")
	in := func(name string) string { return filepath.Join(c.dir, name) }
	server, client := certify(t, in("tls.crt"), in("tls.key")), certify(t, in("ca.crt"), in("client.key"))
	c.write("supervisord.conf", strings.ReplaceAll(fmt.Sprintf(theirs, freeport.Find(t)), "DIR", c.dir))
	c.env = append(joinEnv(t, c.port), "OWN=x", "TOSKOSE_UNIT_TLS_CERT="+in("tls.crt"), "TOSKOSE_UNIT_TLS_KEY="+in("tls.key"), "TOSKOSE_UNIT_TLS_CLIENT_CA="+in("ca.crt"))
	c.client = trusting(t, server, client)
	c.launch()
	c.until("web.log", "printed")
	var version string
	if err := c.call(&version, "supervisor.getSupervisorVersion"); err != nil {
		t.Error(err)
	}
	if code, output := command(t, c.env, "health"); code != 0 {
		t.Errorf("health: exit code %d: %s", code, output)
	}
	c.client = trusting(t, server)
	if response, err := c.request(http.MethodGet, "/healthz", nil); err == nil {
		response.Body.Close()
		t.Error("a client without a certificate is admitted")
	}
}
