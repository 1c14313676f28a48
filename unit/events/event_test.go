package events

import (
	"testing"
	"time"

	"github.com/toskose/toskose/unit/wire"
)

func TestEventsHaveTheTypesAndPayloadsOfSupervisor(t *testing.T) {
	t.Parallel()
	cat := Process{Name: "cat", Group: "pets"}
	for _, tt := range []struct {
		event Event
		is    Type
		want  string
	}{
		{Change{From: wire.Stopped, To: wire.Starting}.Event(cat), ProcessStateStarting, "processname:cat groupname:pets from_state:STOPPED tries:0"},
		{Change{From: wire.Backoff, To: wire.Starting, Tries: 2}.Event(cat), ProcessStateStarting, "processname:cat groupname:pets from_state:BACKOFF tries:2"},
		{Change{From: wire.Starting, To: wire.Running, PID: 7}.Event(cat), ProcessStateRunning, "processname:cat groupname:pets from_state:STARTING pid:7"},
		{Change{From: wire.Starting, To: wire.Backoff, Tries: 1, PID: 7}.Event(cat), ProcessStateBackoff, "processname:cat groupname:pets from_state:STARTING tries:1"},
		{Change{From: wire.Running, To: wire.Stopping, PID: 7}.Event(cat), ProcessStateStopping, "processname:cat groupname:pets from_state:RUNNING pid:7"},
		{Change{From: wire.Stopping, To: wire.Stopped, PID: 7}.Event(cat), ProcessStateStopped, "processname:cat groupname:pets from_state:STOPPING pid:7"},
		{Change{From: wire.Running, To: wire.Exited, PID: 7}.Event(cat), ProcessStateExited, "processname:cat groupname:pets from_state:RUNNING expected:0 pid:7"},
		{Change{From: wire.Running, To: wire.Exited, PID: 7, Expected: true}.Event(cat), ProcessStateExited, "processname:cat groupname:pets from_state:RUNNING expected:1 pid:7"},
		{Change{From: wire.Backoff, To: wire.Fatal}.Event(cat), ProcessStateFatal, "processname:cat groupname:pets from_state:BACKOFF"},
		{Change{From: wire.Running, To: wire.Unknown}.Event(cat), ProcessStateUnknown, "processname:cat groupname:pets from_state:RUNNING"},
		{Logged(cat, 7, wire.Stdout, []byte("m\xffw\n")), ProcessLogStdout, "processname:cat groupname:pets pid:7 channel:stdout\nm\xffw\n"},
		{Communication(cat, 7, wire.Stdout, []byte("m\xff")), ProcessCommunicationStdout, "processname:cat groupname:pets pid:7\nm\xff"},
		{Communication(cat, 7, wire.Stderr, nil), ProcessCommunicationStderr, "processname:cat groupname:pets pid:7\n"},
		{Logged(cat, 7, wire.Stderr, []byte("mew")), ProcessLogStderr, "processname:cat groupname:pets pid:7 channel:stderr\nmew"},
		{GroupAdded("pets"), ProcessGroupAdded, "groupname:pets\n"},
		{GroupRemoved("pets"), ProcessGroupRemoved, "groupname:pets\n"},
		{Remote("call", "here\nkitty"), RemoteCommunication, "type:call\nhere\nkitty"},
		{tickEvent(Tick5, time.Unix(1795254285, 0)), Tick5, "when:1795254285"},
	} {
		if tt.event.Type != tt.is || tt.event.Payload != tt.want {
			t.Errorf("%+v is not %s %q", tt.event, tt.is, tt.want)
		}
	}
}

func TestATypeIsBelowThoseThatItContinues(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		t, above Type
		want     bool
	}{
		{ProcessStateExited, ProcessState, true},
		{ProcessStateExited, ProcessStateExited, true},
		{ProcessStateExited, Any, true},
		{Tick60, Tick, true},
		{SupervisorStateChangeRunning, SupervisorStateChange, true},
		{ProcessGroupAdded, ProcessGroup, true},
		{ProcessState, ProcessStateExited, false},
		{ProcessStateStopped, ProcessStateStopping, false},
		{ProcessGroupAdded, ProcessLog, false},
		{Tick60, Tick5, false},
		{RemoteCommunication, ProcessCommunication, false},
	} {
		if got := tt.t.is(tt.above); got != tt.want {
			t.Errorf("%s is below %s: %v", tt.t, tt.above, got)
		}
	}
}

func TestANoticeIsSentWithItsLengthInBytes(t *testing.T) {
	t.Parallel()
	n := queuedEvent{Event: Remote("k", "dö"), Serial: 21, PoolSerial: 10}
	want := "ver:3.0 server:unit serial:21 pool:ears poolserial:10 eventname:REMOTE_COMMUNICATION len:10\ntype:k\ndö"
	if got := string(n.encode("unit", "ears")); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
