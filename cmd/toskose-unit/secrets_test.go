package main_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kolo/xmlrpc"

	"github.com/toskose/toskose/unit/wire"
)

// answers returns all that the unit can be made to say, whether it is asked well
// or not.
func (c *container) answers() map[string]string {
	c.t.Helper()
	all := map[string]string{}
	ask := func(name, method, path string, body []byte) {
		response, err := c.request(method, path, body)
		if err != nil {
			c.t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
		if err != nil {
			c.t.Fatal(err)
		}
		all[name] = fmt.Sprint(response.Status, response.Header, string(text))
	}
	for _, path := range []string{"/healthz", "/metrics", "/journal", "/mainlog", "/log/api:create/stdout", "/log/api:create/stderr", "/log/x/stdout", "/executions/x", "/components?processes=true", "/instance", "/", "/nothing"} {
		ask(path, http.MethodGet, path, nil)
	}
	var methods []string
	if err := c.call(&methods, "system.listMethods"); err != nil {
		c.t.Fatal(err)
	}
	for _, method := range methods {
		// Those would end what is looked into.
		if ends := regexp.MustCompile(`\.(shutdown|restart|clear.*|stop.*|signal.*)$`); ends.MatchString(method) {
			continue
		}
		for _, args := range [][]any{nil, {"api:create"}, {"api:create", 0, 0}, {0, 0}, {"nothing"}} {
			body, err := xmlrpc.EncodeMethodCall(method, args...)
			if err != nil {
				c.t.Fatal(err)
			}
			ask(fmt.Sprint(method, args), http.MethodPost, "/RPC2", body)
		}
	}
	return all
}

func TestThePasswordIsInNoLogNoAnswerAndNoChild(t *testing.T) {
	t.Parallel()
	const password = "hunter2-zXq"
	for name, given := range map[string]func(c *container){
		"environment": func(c *container) { c.env = []string{"SUPERVISORD_PASSWORD=" + password} },
		"file": func(c *container) {
			c.write("password", password+"\n")
			c.env = []string{"SUPERVISORD_PASSWORD=", "SUPERVISORD_PASSWORD_FILE=" + filepath.Join(c.dir, "password")}
		},
		"configuration": func(c *container) {
			c.write("supervisord.conf", strings.Replace(c.read("supervisord.conf"), "username=admin\n", "username=admin\npassword="+password+"\n", 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newContainer(t, component("api", map[string]string{
				"create": "env; tr '\\0' '\\n' < /proc/$$/environ",
			}, "toskose_output=json")+"[program:steady]\ncommand=/bin/sleep 1000\n")
			c.write("supervisord.conf", strings.Replace(c.read("supervisord.conf"), "[supervisord]\n", "[supervisord]\nloglevel=blather\n", 1))
			given(c)
			c.password = password
			c.stdout = &strings.Builder{}
			c.boot()
			outcome(t, c.run("api", "create"), wire.OutcomeSucceeded)
			hides := func(where, text string) {
				if strings.Contains(text, password) {
					t.Errorf("%s has the password:\n%s", where, text)
				}
				if strings.Contains(text, "SUPERVISORD_PASSWORD") {
					t.Errorf("%s has the name of the password's variable:\n%s", where, text)
				}
			}
			for name, text := range c.answers() {
				hides("the answer to "+name, text)
			}
			wrong := c.password
			c.password = password + "!"
			if response, err := c.request(http.MethodGet, "/journal", nil); err != nil || response.StatusCode != http.StatusUnauthorized {
				t.Errorf("another password: %v, %v", response, err)
			} else {
				response.Body.Close()
			}
			c.password = wrong
			children(t, c, hides)
			c.terminate()
			hides("stdout", c.stdout.(*strings.Builder).String())
			hides("stderr", c.stderr.String())
			files(t, c, hides)
		})
	}
}

// children looks into the environments of all of the unit's children.
func children(t *testing.T, c *container, hides func(where, text string)) {
	t.Helper()
	seen := 0
	for pid := range c.children() {
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err == nil && len(environ) > 0 {
			seen++
			hides(fmt.Sprintf("the environment of %d", pid), string(environ))
		}
	}
	if seen == 0 {
		t.Error("no child was looked into")
	}
}

// files looks into all that the unit has written.
func files(t *testing.T, c *container, hides func(where, text string)) {
	t.Helper()
	seen := map[string]bool{}
	err := filepath.WalkDir(c.dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == "password" || entry.Name() == "supervisord.conf" {
			return err
		}
		text, err := os.ReadFile(path)
		hides(path, string(text))
		seen[entry.Name()] = true
		return err
	})
	if err != nil || !seen["unit.log"] || len(seen) < 4 {
		t.Errorf("%v: %v", seen, err)
	}
}

func TestHealthSaysNothingSecretToAnyone(t *testing.T) {
	t.Parallel()
	c := newContainer(t, component("api", map[string]string{"create": "true"}, "")).boot()
	response, err := http.Get("http://" + c.address() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || string(text) != "{\"status\":\"ok\"}\n" || response.Header.Get("Server") != "" {
		t.Errorf("%q %v %v", text, response.Header, err)
	}
	for _, path := range []string{"/metrics", "/log/api:create/stdout", "/mainlog"} {
		open, err := http.Get("http://" + c.address() + path)
		if err != nil {
			t.Fatal(err)
		}
		open.Body.Close()
		if open.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s is open: %s", path, open.Status)
		}
	}
}
