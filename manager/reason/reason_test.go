package reason_test

import (
	"slices"
	"testing"
	"time"

	"github.com/toskose/toskose/manager/reason"
	"github.com/toskose/toskose/unit/wire"
)

func code(n int) wire.Exit { return wire.Exit{ExitCode: &n} }

func TestOneSentenceSaysWhyAComponentFailed(t *testing.T) {
	t.Parallel()
	at := time.Unix(1, 0)
	refused := wire.Execution{
		Interface: "Standard", Operation: "start", Outcome: wire.OutcomeFailed, Exit: code(1), Last: "Address already in use",
		Reason: "not ready after 4 s: tcp 127.0.0.1:8001: connection refused",
	}
	failed := func(operation string, exit wire.Exit) wire.Execution {
		return wire.Execution{Interface: "Standard", Operation: operation, Outcome: wire.OutcomeFailed, Exit: exit}
	}
	done := func(operation string) wire.Execution {
		return wire.Execution{Interface: "Standard", Operation: operation, Outcome: wire.OutcomeSucceeded}
	}
	died := done("start")
	died.Gone, died.Death = at, &wire.Death{Exit: wire.Exit{Signal: "SIGKILL"}, Last: "serving"}
	old := done("start")
	old.Gone = at
	stopped := died
	stopped.Stopped, stopped.Death = true, nil
	with := died
	with.ContainerEnded, with.Death = true, nil

	for want, c := range map[string]wire.Checkpointed{
		`start failed (2nd try): not ready after 4 s: tcp 127.0.0.1:8001: connection refused; last line: "Address already in use"`: {
			Recent: []wire.Execution{done("configure"), refused, refused},
		},
		"configure failed with exit code 3":                               {Recent: []wire.Execution{failed("configure", code(3))}},
		"configure failed by SIGSEGV":                                     {Recent: []wire.Execution{failed("configure", wire.Exit{Signal: "SIGSEGV"})}},
		"configure failed (3rd try) with exit code 3":                     {Recent: []wire.Execution{failed("configure", code(3)), failed("configure", code(3)), failed("configure", code(3))}},
		"start failed (16th try or later) with exit code 3":               {Recent: slices.Repeat([]wire.Execution{failed("start", code(3))}, 17)},
		`ended unexpectedly (30th time) by SIGKILL; last line: "serving"`: {Recent: []wire.Execution{died}, Death: died.Death, Restarts: 29},
		`ended unexpectedly by SIGKILL; last line: "serving"`:             {Recent: []wire.Execution{died}, Death: died.Death},
		`ended unexpectedly (3rd time) by SIGKILL; last line: "serving"`:  {Recent: []wire.Execution{died}, Death: died.Death, Restarts: 2},
		"ended unexpectedly":                                              {Recent: []wire.Execution{old}},
		"not live: HTTP 127.0.0.1:80 responds 500":                        {StartedFrom: "stopped", Failing: &wire.Failing{Why: "HTTP 127.0.0.1:80 responds 500"}, Recent: []wire.Execution{done("start")}},
		`the program is FATAL: exited too quickly; last line: "no space"`: {External: true, Why: "the program is FATAL: exited too quickly", Death: &wire.Death{Last: "no space"}},
	} {
		if got := reason.Of(&c); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for name, c := range map[string]wire.Checkpointed{
		"nothing was done":                    {},
		"it runs":                             {StartedFrom: "configured", Recent: []wire.Execution{refused, done("start")}},
		"it runs again":                       {StartedFrom: "configured", Recent: []wire.Execution{died}, Death: died.Death},
		"it runs, and could not be backed up": {StartedFrom: "configured", Recent: []wire.Execution{done("start"), failed("backup", code(1))}},
		"it was stopped":                      {Recent: []wire.Execution{stopped}},
		"it ended with its container":         {Recent: []wire.Execution{with}},
		"it completed":                        {Completed: true, External: true, Why: "it ended", Death: &wire.Death{}},
	} {
		if got := reason.Of(&c); got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestOrdinalsAreEnglish(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 11: "11th", 12: "12th", 13: "13th", 21: "21st", 102: "102nd", 112: "112th"} {
		if got := reason.Ordinal(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}
