package process

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/events"
	"github.com/toskose/toskose/unit/wire"
)

// TestEveryStepIsAnnouncedAsSupervisorWould takes the state machine through all
// of its states and events, and checks that the announced states lead from one
// to the other, by ways that Supervisor's state machine has (Supervisor manual,
// "Process States") and, for an operation and for a program with checks, the one
// each that it has not.
func TestEveryStepIsAnnouncedAsSupervisorWould(t *testing.T) {
	t.Parallel()
	ways := map[wire.ProcessState][]wire.ProcessState{
		wire.Stopped:  {wire.Starting},
		wire.Exited:   {wire.Starting},
		wire.Fatal:    {wire.Starting},
		wire.Unknown:  {wire.Starting},
		wire.Starting: {wire.Running, wire.Backoff, wire.Stopping},
		wire.Running:  {wire.Exited, wire.Stopping},
		wire.Backoff:  {wire.Starting, wire.Fatal, wire.Stopped},
		wire.Stopping: {wire.Stopped},
	}
	programs, states := maps.Clone(machineTables), maps.Clone(machineStates)
	maps.Copy(programs, checkedTables)
	maps.Copy(states, checkedStates)
	for name, tables := range programs {
		for state, s := range states {
			if _, checked := checkedStates[state]; checked && !tables.rules.hasChecks {
				continue
			}
			for what, e := range machineEvents {
				after, effects, err := next(tables.rules, s, e)
				if err != nil {
					continue
				}
				at := s.process
				for _, to := range supervisorStates(tables.rules.kind, at, after.process, slices.Contains(effects, spawn)) {
					operationEnds := tables.rules.kind != protocol.KindNone && at == wire.Starting && to == wire.Exited
					givenUp := tables.rules.hasChecks && at == wire.Stopping && to == wire.Backoff
					if !slices.Contains(ways[at], to) && !operationEnds && !givenUp {
						t.Errorf("%s: %s in %s is announced as %s to %s", name, what, state, at, to)
					}
					at = to
				}
				if at != after.process {
					t.Errorf("%s: %s in %s leads to %s, but %s was announced", name, what, state, after.process, at)
				}
			}
		}
	}
}

func TestARestartIsAnnouncedWithItsExit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		before, after wire.ProcessState
		again         bool
		want          []wire.ProcessState
	}{
		{wire.Running, wire.Starting, true, []wire.ProcessState{wire.Exited, wire.Starting}},
		{wire.Starting, wire.Starting, true, []wire.ProcessState{wire.Running, wire.Exited, wire.Starting}},
		{wire.Starting, wire.Starting, false, nil},
		{wire.Backoff, wire.Starting, true, []wire.ProcessState{wire.Starting}},
	} {
		if got := supervisorStates(protocol.KindNone, tt.before, tt.after, tt.again); !slices.Equal(got, tt.want) {
			t.Errorf("%s to %s: %v, want %v", tt.before, tt.after, got, tt.want)
		}
	}
}

func TestEveryTypeOfEventCanBeSubscribedTo(t *testing.T) {
	t.Parallel()
	types := []string{
		string(events.Any), string(events.ProcessState), string(events.ProcessLog), string(events.ProcessLogStdout),
		string(events.ProcessLogStderr), string(events.ProcessCommunication), string(events.ProcessCommunicationStdout),
		string(events.ProcessCommunicationStderr), string(events.ProcessGroup), string(events.ProcessGroupAdded),
		string(events.ProcessGroupRemoved), string(events.RemoteCommunication), string(events.SupervisorStateChange),
		string(events.SupervisorStateChangeRunning), string(events.SupervisorStateChangeStopping),
		string(events.Tick), string(events.Tick5), string(events.Tick60), string(events.Tick3600),
	}
	for _, state := range []wire.ProcessState{
		wire.Starting, wire.Running, wire.Backoff, wire.Stopping, wire.Exited, wire.Stopped, wire.Fatal, wire.Unknown,
	} {
		types = append(types, string(events.Change{To: state}.Event(events.Process{}).Type))
	}
	slices.Sort(types)
	file := filepath.Join(t.TempDir(), "supervisord.conf")
	text := "[supervisord]\n[eventlistener:ears]\ncommand=cat\nevents=" + strings.Join(types, ",") + "\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, _, err := config.Load(file, nil)
	if err != nil || len(c.Listeners) != 1 || !slices.Equal(c.Listeners[0].Events, types) {
		t.Errorf("%+v, %v", c, err)
	}
}
