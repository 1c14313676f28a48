package unit

import (
	"errors"
	"testing"
	"time"

	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/wire"
)

func TestUptimeReadsAsPythonPrintsIt(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		3 * time.Second: "0:00:03", -time.Second: "0:00:00", 25*time.Hour + 3*time.Second: "1 day, 1:00:03",
		49 * time.Hour: "2 days, 1:00:00", 10*time.Hour + 59*time.Minute: "10:59:00",
	} {
		if got := timedelta(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}

func TestDescriptionsAreSupervisors(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 20, 35, 0, 0, time.Local)
	for want, s := range map[string]status{
		"Not started":                  {state: wire.Stopped},
		"Nov 20 08:35 PM":              {state: wire.Exited, started: now, stopped: now},
		"pid 12, uptime 0:00:03":       {state: wire.Running, pid: 12, started: now.Add(-3 * time.Second)},
		`unknown error (try "tail x")`: {state: wire.Fatal},
		"Exited too quickly":           {state: wire.Backoff, spawnErr: "Exited too quickly"},
		"":                             {state: wire.Starting},
	} {
		if got := describe("x", s, now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestNamesFindProcesses(t *testing.T) {
	t.Parallel()
	member := func(group, name, interfaceName, operation string) *program {
		return &program{cfg: &config.Program{Group: group, Name: name, Interface: interfaceName, Operation: operation}}
	}
	api := []*program{member("api", "start", "Standard", "start"), member("api", "Standard.push", "Standard", "push"), member("api", "extra.push", "extra", "push")}
	d := &directory{
		groups: []group{{name: "api", programs: api}, {name: "cat", programs: []*program{member("cat", "cat", "", "")}}},
		components: map[string]map[string]*program{"api": {
			"Standard.start": api[0], "Standard.push": api[1], "extra.push": api[2], "Standard.stop": nil,
		}},
	}
	for name, want := range map[string]string{
		"api:start": "start", "api:Standard.start": "start", "api:extra.push": "extra.push", "cat": "cat",
		"api:*": "", "api:": "", "api": "?", "api:none": "?", "none": "?", "api:push": "?", "": "?",
	} {
		_, p, err := d.namespec(name)
		got := ""
		if p != nil {
			got = p.cfg.Name
		} else if code, ok := wire.FaultCodeOf(err); ok && code == wire.BadName {
			got = "?"
		}
		if got != want {
			t.Errorf("%q finds %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"start": "Standard.start", "stop": "Standard.stop", "extra.push": "extra.push", "push": "", "x": ""} {
		got, _, err := d.operation("api", name)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("operation %q is %q (%v), want %q", name, got, err, want)
		}
	}
	if _, err := d.one("api:*"); err == nil {
		t.Error("a whole group passes for a process")
	}
}

func TestSignalsAreKnownByNameAndNumber(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"HUP": 1, "SIGHUP": 1, "1": 1, "sigterm": 15, "64": 64} {
		if got, err := signalNumber(text); err != nil || int(got) != want {
			t.Errorf("%s is %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "65", "-9", "FOO"} {
		_, err := signalNumber(text)
		var fault *wire.Fault
		if !errors.As(err, &fault) || fault.Code != wire.BadSignal {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestChildrenDoNotInheritCredentials(t *testing.T) {
	t.Parallel()
	env := map[string]string{"SUPERVISORD_PASSWORD": "x", "SUPERVISORD_PASSWORD_FILE": "y", "PATH": "z", "TOSKOSE_LABEL_HOST": "h"}
	got := inherited(env)
	if len(got) != 2 || got["PATH"] != "z" || len(env) != 4 {
		t.Errorf("inherited: %v", got)
	}
	if l := labels(env); len(l) != 1 || l["host"] != "h" {
		t.Errorf("labels: %v", l)
	}
}
