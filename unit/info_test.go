package unit

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/process"
	"github.com/toskose/toskose/unit/wire"
)

func TestNamesFindProcesses(t *testing.T) {
	t.Parallel()
	var table process.Table
	none := config.Log{Kind: config.LogNone}
	member := func(group, name, interfaceName, operation string) *process.Program {
		p, err := table.Program(&config.Program{
			Group: group, Name: name, Operation: protocol.Operation{Interface: interfaceName, Name: operation}, Stdout: none, Stderr: none,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	api := []*process.Program{member("api", "start", "Standard", "start"), member("api", "Standard.push", "Standard", "push"), member("api", "extra.push", "extra", "push")}
	d := &directory{groups: []*group{
		{name: "api", programs: api}, {name: "cat", programs: []*process.Program{member("cat", "cat", "", "")}},
	}}
	for name, want := range map[string]string{
		"api:start": "start", "api:Standard.start": "start", "api:extra.push": "extra.push", "cat": "cat",
		"api:*": "", "api:": "", "api": "?", "api:none": "?", "none": "?", "api:push": "?", "": "?",
	} {
		_, p, err := d.namespec(name)
		got := ""
		if p != nil {
			got = p.Config().Name
		} else if code, ok := wire.FaultCodeOf(err); ok && code == wire.BadName {
			got = "?"
		}
		if got != want {
			t.Errorf("%q finds %q, want %q", name, got, want)
		}
	}
	if _, err := d.single("api:*"); err == nil {
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
	got := inherited(env, false)
	if len(got) != 2 || got["PATH"] != "z" || len(env) != 4 {
		t.Errorf("inherited: %v", got)
	}
}

func TestTheOwnerOfDocumentsIsWhomAnOrchestratorFillsIn(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"": "", "{{.Service.ID}}": "", "u1vrfd847zmt": "u1vrfd847zmt", "a b": "", "a\nb": "", strings.Repeat("x", 65): "",
	} {
		if got := owner(map[string]string{"TOSKOSE_DOCUMENTS_OWNER": value}); got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
}

func TestLabelsAreFewAndShort(t *testing.T) {
	t.Parallel()
	env := map[string]string{
		"TOSKOSE_LABEL_HOST": "h", "TOSKOSE_LABEL_SLOT": "{{.Task.Slot}}", "TOSKOSE_LABEL_": "no name", "TOSKOSE_LABEL_EMPTY": "",
		"TOSKOSE_LABEL_LONG": strings.Repeat("x", maxLabelValue+1), "TOSKOSE_LABEL_" + strings.Repeat("N", maxLabelName+1): "x", "LABEL_X": "x",
	}
	if l := labels(env); len(l) != 1 || l["host"] != "h" {
		t.Errorf("labels: %v", l)
	}
	for i := range 2 * maxLabels {
		env[fmt.Sprintf("TOSKOSE_LABEL_X%d", i)] = "x"
	}
	if l := labels(env); len(l) != maxLabels || l["host"] != "h" {
		t.Errorf("%d labels: %v", len(l), l)
	}
}
