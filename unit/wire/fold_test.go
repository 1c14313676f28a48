package wire_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/unit/wire"
)

// remembered folds executions as "ID operation outcome", and returns those that are kept.
func remembered(keep int, told ...string) (ids []string) {
	var c wire.Checkpointed
	for i, text := range told {
		var id, operation, outcome string
		_, _ = fmt.Sscan(text, &id, &operation, &outcome)
		if outcome == "gone" {
			c = c.After(wire.Entry{Kind: wire.EntryGone, Time: time.Unix(int64(i), 0), State: "configured"}, keep)
			continue
		}
		e := wire.Entry{Kind: wire.EntryExit, State: "configured", Execution: &wire.Execution{
			ID: id, Interface: "Standard", Operation: operation, Outcome: wire.Outcome(outcome),
		}}
		if operation == "start" && outcome == "succeeded" {
			e.State, e.StartedFrom = "running", "configured"
		}
		c = c.After(e, keep)
	}
	for _, x := range c.Recent {
		ids = append(ids, x.ID)
	}
	return ids
}

func TestWhatSaysHowOftenAnOperationWasTriedIsRemembered(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		told []string
		want []string
	}{
		"the last of all":                  {[]string{"a push succeeded", "b push succeeded", "c push succeeded"}, []string{"b", "c"}},
		"the last of each operation":       {[]string{"a load failed", "b push succeeded", "c push succeeded", "d push succeeded"}, []string{"a", "c", "d"}},
		"all that failed in a row":         {[]string{"a load lost", "b push succeeded", "c load timeout", "d push succeeded", "e push succeeded"}, []string{"a", "c", "d", "e"}},
		"none before what succeeded":       {[]string{"a load failed", "b load succeeded", "c load failed", "d push succeeded", "e push succeeded"}, []string{"b", "c", "d", "e"}},
		"and none before that":             {[]string{"a load succeeded", "b load succeeded", "c push succeeded", "d push succeeded"}, []string{"b", "c", "d"}},
		"what was cancelled counts not":    {[]string{"a load failed", "b load cancelled", "c push succeeded", "d push succeeded"}, []string{"a", "c", "d"}},
		"starts whose processes died":      {[]string{"a start succeeded", "- - gone", "b start succeeded", "- - gone", "c push succeeded", "d push succeeded"}, []string{"a", "b", "c", "d"}},
		"but none before one that goes on": {[]string{"a start succeeded", "- - gone", "b start succeeded", "c push succeeded", "d push succeeded"}, []string{"b", "c", "d"}},
		"what is under way":                {[]string{"a load running", "b push succeeded", "c push succeeded", "d push succeeded"}, []string{"a", "c", "d"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := remembered(2, tt.told...); !slices.Equal(got, tt.want) {
				t.Errorf("%v, not %v", got, tt.want)
			}
		})
	}
}

func TestAttemptsAreRememberedAmongOthersAndNotWithoutEnd(t *testing.T) {
	t.Parallel()
	var told, want []string
	for i := range wire.MaxAttempts + 9 {
		id := fmt.Sprint("try", i)
		told = append(told, id+" load failed", fmt.Sprintf("o%d push succeeded", i), fmt.Sprintf("p%d pull succeeded", i))
		if i >= 9 {
			want = append(want, id)
		}
	}
	got := slices.DeleteFunc(remembered(16, told...), func(id string) bool { return id[0] != 't' })
	if !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

func TestTheLastOfEachIndexOfATaskIsRemembered(t *testing.T) {
	t.Parallel()
	var c wire.Checkpointed
	tell := func(id string, index int, outcome wire.Outcome) {
		c = c.After(wire.Entry{Kind: wire.EntryExit, State: "completed", Execution: &wire.Execution{
			ID: id, Interface: "Task", Operation: "run", Outcome: outcome, Part: &wire.Part{Index: index, Attempt: 1},
		}}, 2)
	}
	tell("a", 0, wire.OutcomeFailed)
	tell("b", 0, wire.OutcomeSucceeded)
	tell("c", 1, wire.OutcomeCancelled)
	tell("d", 2, wire.OutcomeFailed)
	tell("e", 2, wire.OutcomeFailed)
	tell("f", 3, wire.OutcomeSucceeded)
	tell("g", 3, wire.OutcomeSucceeded)
	var ids []string
	for _, x := range c.Recent {
		ids = append(ids, x.ID)
	}
	if want := []string{"b", "c", "e", "f", "g"}; !slices.Equal(ids, want) {
		t.Errorf("%v are remembered, not %v", ids, want)
	}
}

// TestAProgramChangesWithoutAnOperation: what the unit and clients of Supervisor's API do is told from executions.
func TestAProgramChangesWithoutAnOperation(t *testing.T) {
	t.Parallel()
	start := func(outcome wire.Outcome) *wire.Execution {
		return &wire.Execution{ID: "x", Interface: "Program", Operation: "start", Outcome: outcome, Started: time.Unix(1, 0)}
	}
	running := func(kind wire.EntryKind, x *wire.Execution) wire.Entry {
		return wire.Entry{Kind: kind, State: "running", StartedFrom: "stopped", Execution: x}
	}
	stopped := func(kind wire.EntryKind) wire.Entry { return wire.Entry{Kind: kind, State: "stopped"} }
	for name, tt := range map[string]struct {
		entries                     []wire.Entry
		external, completed, marked bool
	}{
		"started by an operation":           {entries: []wire.Entry{running(wire.EntryExit, start(wire.OutcomeSucceeded))}},
		"started by the unit":               {entries: []wire.Entry{running(wire.EntryRunning, nil)}, external: true},
		"and not live since":                {entries: []wire.Entry{running(wire.EntryRunning, nil), running(wire.EntryLive, nil)}, external: true},
		"stopped after an operation":        {entries: []wire.Entry{running(wire.EntryExit, start(wire.OutcomeSucceeded)), stopped(wire.EntryStop)}, marked: true},
		"stopped after the unit started it": {entries: []wire.Entry{running(wire.EntryRunning, nil), stopped(wire.EntryStop)}, external: true},
		"stopped after the unit started it again": {
			entries: []wire.Entry{
				running(wire.EntryExit, start(wire.OutcomeSucceeded)), stopped(wire.EntryGone), running(wire.EntryRunning, nil), stopped(wire.EntryStop),
			},
			external: true, marked: true,
		},
		"ended by itself": {entries: []wire.Entry{running(wire.EntryRunning, nil), stopped(wire.EntryGone)}},
		"completed":       {entries: []wire.Entry{running(wire.EntryRunning, nil), {Kind: wire.EntryGone, State: "stopped", Completed: true}}, completed: true},
		"and started again": {
			entries: []wire.Entry{{Kind: wire.EntryGone, State: "stopped", Completed: true}, {Kind: wire.EntryStart, State: "stopped", Execution: start(wire.OutcomeRunning)}},
		},
	} {
		c := wire.Checkpointed{Component: "app", State: "stopped", Since: time.Unix(1, 0)}
		for i, e := range tt.entries {
			e.Seq, e.Time, e.Component = uint64(i+1), time.Unix(int64(i+2), 0), "app"
			c = c.After(e, 10)
		}
		marked := len(c.Recent) > 0 && !c.Recent[0].Gone.IsZero()
		if c.External != tt.external || c.Completed != tt.completed || marked != tt.marked {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// TestDeathsAndRestartsAreCounted: only a start after an unrequested end counts as a restart.
func TestDeathsAndRestartsAreCounted(t *testing.T) {
	t.Parallel()
	started := wire.Entry{Kind: wire.EntryRunning, State: "running", StartedFrom: "stopped"}
	died := wire.Entry{Kind: wire.EntryGone, State: "stopped", Death: &wire.Death{Exit: wire.Exit{Signal: "SIGKILL"}}}
	stopped := wire.Entry{Kind: wire.EntryStop, State: "stopped"}
	for name, tt := range map[string]struct {
		entries  []wire.Entry
		restarts int
		dead     bool
	}{
		"started":                   {[]wire.Entry{started}, 0, false},
		"died":                      {[]wire.Entry{started, died}, 0, true},
		"started again":             {[]wire.Entry{started, died, started}, 1, true},
		"died twice":                {[]wire.Entry{started, died, started, died, started}, 2, true},
		"stopped since":             {[]wire.Entry{started, died, started, stopped, started}, 1, false},
		"ended with its container":  {[]wire.Entry{started, {Kind: wire.EntryGone, State: "stopped", ContainerEnded: true}, started}, 0, false},
		"died before it was seen":   {[]wire.Entry{died, started}, 1, true},
		"failed a check when alive": {[]wire.Entry{started, {Kind: wire.EntryLive, State: "running", StartedFrom: "stopped"}}, 0, false},
	} {
		c := wire.Checkpointed{Component: "app", State: "stopped", Since: time.Unix(1, 0)}
		for i, e := range tt.entries {
			e.Seq, e.Time = uint64(i+1), time.Unix(int64(i+2), 0)
			c = c.After(e, 10)
		}
		if c.Restarts != tt.restarts || (c.Death != nil) != tt.dead {
			t.Errorf("%s: %d restarts, last death %+v", name, c.Restarts, c.Death)
		}
	}
}

func TestTheLastLineOfAnOutput(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 200)
	for want, output := range map[string]wire.Output{
		"":                       {Stdout: " \n\n"},
		"bound":                  {Stdout: "begin\nbound\n \n"},
		"Address already in use": {Stdout: "bound\n", Stderr: "trace\n  Address already in use\n"},
		long[:196] + "…":         {Stderr: long},
	} {
		if got := wire.LastLine(output); got != want {
			t.Errorf("%+v: %q, want %q", output, got, want)
		}
	}
}
