package events

import (
	"fmt"
	"strings"
	"time"

	"github.com/toskose/toskose/unit/wire"
)

// Type is the type of an event, or a supertype that can be subscribed to.
type Type string

// The types of events (Supervisor manual, "Event Types"). A name that extends another after an
// underscore is a subtype of it; all are subtypes of Any.
const (
	Any Type = "EVENT"

	ProcessState         Type = "PROCESS_STATE"
	ProcessStateStarting Type = "PROCESS_STATE_STARTING"
	ProcessStateRunning  Type = "PROCESS_STATE_RUNNING"
	ProcessStateBackoff  Type = "PROCESS_STATE_BACKOFF"
	ProcessStateStopping Type = "PROCESS_STATE_STOPPING"
	ProcessStateExited   Type = "PROCESS_STATE_EXITED"
	ProcessStateStopped  Type = "PROCESS_STATE_STOPPED"
	ProcessStateFatal    Type = "PROCESS_STATE_FATAL"
	ProcessStateUnknown  Type = "PROCESS_STATE_UNKNOWN"

	ProcessLog       Type = "PROCESS_LOG"
	ProcessLogStdout Type = "PROCESS_LOG_STDOUT"
	ProcessLogStderr Type = "PROCESS_LOG_STDERR"

	ProcessCommunication       Type = "PROCESS_COMMUNICATION"
	ProcessCommunicationStdout Type = "PROCESS_COMMUNICATION_STDOUT"
	ProcessCommunicationStderr Type = "PROCESS_COMMUNICATION_STDERR"

	ProcessGroup        Type = "PROCESS_GROUP"
	ProcessGroupAdded   Type = "PROCESS_GROUP_ADDED"
	ProcessGroupRemoved Type = "PROCESS_GROUP_REMOVED"

	RemoteCommunication Type = "REMOTE_COMMUNICATION"

	SupervisorStateChange         Type = "SUPERVISOR_STATE_CHANGE"
	SupervisorStateChangeRunning  Type = "SUPERVISOR_STATE_CHANGE_RUNNING"
	SupervisorStateChangeStopping Type = "SUPERVISOR_STATE_CHANGE_STOPPING"

	Tick     Type = "TICK"
	Tick5    Type = "TICK_5"
	Tick60   Type = "TICK_60"
	Tick3600 Type = "TICK_3600"
)

// is reports whether a type equals another one or is a subtype of it.
func (t Type) is(above Type) bool {
	return above == Any || t == above || strings.HasPrefix(string(t), string(above)+"_")
}

// Event is an event.
type Event struct {
	Type    Type
	Payload string
}

// Process identifies a process in a payload.
type Process struct {
	Name  string
	Group string
}

func (p Process) String() string {
	return "processname:" + p.Name + " groupname:" + p.Group
}

// Change is a state change of a process.
type Change struct {
	From, To wire.ProcessState
	PID      int  // of the main process, if any
	Tries    int  // for STARTING and BACKOFF: the number of failed starts before
	Expected bool // for an exit: its code is among exitcodes
}

// Event returns the event for a state change. Each state has its own keys.
func (c Change) Event(p Process) Event {
	payload := fmt.Sprintf("%s from_state:%s", p, c.From)
	switch c.To {
	case wire.Starting, wire.Backoff:
		payload += fmt.Sprintf(" tries:%d", c.Tries)
	case wire.Exited:
		expected := 0
		if c.Expected {
			expected = 1
		}
		payload += fmt.Sprintf(" expected:%d pid:%d", expected, c.PID)
	case wire.Running, wire.Stopping, wire.Stopped:
		payload += fmt.Sprintf(" pid:%d", c.PID)
	case wire.Fatal, wire.Unknown:
	}
	return Event{Type: ProcessState + "_" + Type(c.To.String()), Payload: payload}
}

// Logged returns the event for output of a process.
func Logged(p Process, pid int, stream wire.Stream, data []byte) Event {
	return Event{
		Type:    LogType(stream),
		Payload: fmt.Sprintf("%s pid:%d channel:%s\n%s", p, pid, stream, data),
	}
}

// LogType returns the type of the events of Logged for a stream.
func LogType(stream wire.Stream) Type {
	if stream == wire.Stderr {
		return ProcessLogStderr
	}
	return ProcessLogStdout
}

// Communication returns the event for output that a process has marked for listeners (Supervisor
// manual, "Capture Mode").
func Communication(p Process, pid int, stream wire.Stream, data []byte) Event {
	return Event{Type: CommunicationType(stream), Payload: fmt.Sprintf("%s pid:%d\n%s", p, pid, data)}
}

// CommunicationType returns the type of the events of Communication for a stream.
func CommunicationType(stream wire.Stream) Type {
	if stream == wire.Stderr {
		return ProcessCommunicationStderr
	}
	return ProcessCommunicationStdout
}

// GroupAdded returns the event for an added process group.
func GroupAdded(group string) Event {
	return Event{Type: ProcessGroupAdded, Payload: "groupname:" + group + "\n"}
}

// GroupRemoved returns the event for a removed process group.
func GroupRemoved(group string) Event {
	return Event{Type: ProcessGroupRemoved, Payload: "groupname:" + group + "\n"}
}

// Remote returns the event that a client sent by sendRemoteCommEvent.
func Remote(kind, data string) Event {
	return Event{Type: RemoteCommunication, Payload: "type:" + kind + "\n" + data}
}

// tickEvent returns the event for a tick.
func tickEvent(t Type, when time.Time) Event {
	return Event{Type: t, Payload: fmt.Sprintf("when:%d", when.Unix())}
}
