package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toskose/toskose/internal/testunit"
)

// command runs the unit's binary to its end.
func command(t *testing.T, env []string, args ...string) (code int, output string) {
	t.Helper()
	cmd := exec.Command(unitBinary, args...)
	if env == nil {
		env = os.Environ()
	}
	cmd.Env = append(env[:len(env):len(env)], testunit.EndsAtOnce)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run()
	return cmd.ProcessState.ExitCode(), out.String()
}

func configuration(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "supervisord.conf")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTheCommandLine(t *testing.T) {
	t.Parallel()
	good := configuration(t, "[supervisord]\n[program:x]\ncommand=true\n")
	bad := configuration(t, "[supervisord]\nloglevel=loud\n[program:x]\ncommand=true\nstartsecs=soon\n")
	odd := configuration(t, "[supervisord]\nlogfiel=x\n[program:x]\ncommand=true\n[nonsense]\n")
	both := configuration(t, "[supervisord]\nlogfiel=x\ntoskose_output=loud\n")
	open := configuration(t, "[supervisord]\nlogfile=NONE\n[inet_http_server]\nport=127.0.0.1:1\ntoskose_auth=required\n")
	for name, c := range map[string]struct {
		env  []string
		args []string
		code int
		says []string
	}{
		"version":               {nil, []string{"--version"}, 0, []string{"dev"}},
		"help":                  {nil, []string{"--help"}, 0, []string{"Usage:", "Examples:"}},
		"an unknown command":    {nil, []string{"fly"}, 2, []string{`"fly"`}},
		"an unknown flag":       {nil, []string{"-x"}, 2, []string{"-x"}},
		"too many arguments":    {nil, []string{"run", "x"}, 2, []string{"too many"}},
		"a flag with no file":   {nil, []string{"health", "-c"}, 2, []string{"-c needs a value"}},
		"supervisord's flags":   {nil, []string{"-n", "--configuration=/nowhere.conf"}, 2, []string{"/nowhere.conf"}},
		"no such configuration": {nil, []string{"-c", "/nowhere.conf"}, 2, []string{"/nowhere.conf"}},
		"all problems at once":  {nil, []string{"-c", bad}, 2, []string{bad + ":2: ", bad + ":5: "}},
		"check of a bad file":   {nil, []string{"check", bad}, 2, []string{bad + ":2: ", bad + ":5: "}},
		"check of a good file":  {nil, []string{"check", good}, 0, []string{"is valid"}},
		"check with warnings":   {nil, []string{"check", odd}, 0, []string{odd + ":2: ", "(warning)", odd + ":5: ", "is valid"}},
		"check with both":       {nil, []string{"check", both}, 2, []string{both + ":2: ", "(warning)", both + ":3: "}},
		"check of a folder":     {nil, []string{"check", "/"}, 2, []string{"cannot read /: "}},
		"health of nothing":     {nil, []string{"health", "-c", good}, 1, []string{"no [inet_http_server]"}},
		"pulse of nothing":      {nil, []string{"pulse", "-c", good}, 1, []string{"no [inet_http_server]"}},
		"ready of nothing":      {nil, []string{"ready", "-c", good}, 1, []string{"no [inet_http_server]"}},
		"check of nothing":      {nil, []string{"check"}, 2, []string{"one FILE"}},
		"no password":           {nil, []string{"-c", open}, 2, []string{"toskose_auth=required", "SUPERVISORD_PASSWORD_FILE"}},
		"no password file":      {[]string{"SUPERVISORD_PASSWORD_FILE=/nowhere"}, []string{"-c", open}, 2, []string{"/nowhere"}},
		"nobody at home":        {[]string{"SUPERVISORD_PORT=1"}, []string{"health"}, 1, []string{"refused"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, output := command(t, c.env, c.args...)
			if code != c.code {
				t.Errorf("exit code %d, want %d\n%s", code, c.code, output)
			}
			for _, text := range c.says {
				if !strings.Contains(output, text) {
					t.Errorf("it does not say %q:\n%s", text, output)
				}
			}
		})
	}
}

func TestTheUnitIsHealthyUnderItsPasswordFile(t *testing.T) {
	t.Parallel()
	c := newContainer(t, component("api", map[string]string{"create": "env"}, "")).boot()
	port := "SUPERVISORD_PORT=" + strings.TrimPrefix(c.address(), "127.0.0.1:")
	if code, output := command(t, []string{port}, "health"); code != 0 {
		t.Errorf("exit code %d: %s", code, output)
	}
	x := c.run("api", "create")
	if strings.Contains(x.Stdout, "SUPERVISORD_PASSWORD") || !strings.Contains(x.Stdout, "TOSKOSE_COMPONENT=api\n") {
		t.Errorf("the environment of an operation:\n%s", x.Stdout)
	}
}
