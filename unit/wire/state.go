package wire

// ProcessState is a state of a program with Supervisor's number (Supervisor manual, "Process
// States").
type ProcessState int

// The process states of Supervisor.
const (
	Stopped  ProcessState = 0
	Starting ProcessState = 10
	Running  ProcessState = 20
	Backoff  ProcessState = 30
	Stopping ProcessState = 40
	Exited   ProcessState = 100
	Fatal    ProcessState = 200
	Unknown  ProcessState = 1000
)

var processStateNames = map[ProcessState]string{
	Stopped: "STOPPED", Starting: "STARTING", Running: "RUNNING", Backoff: "BACKOFF",
	Stopping: "STOPPING", Exited: "EXITED", Fatal: "FATAL", Unknown: "UNKNOWN",
}

// String returns the name that Supervisor's clients print.
func (s ProcessState) String() string {
	if name, ok := processStateNames[s]; ok {
		return name
	}
	return "UNKNOWN"
}

// InRunningSet reports whether Supervisor counts the state as running.
func (s ProcessState) InRunningSet() bool { return s == Starting || s == Running || s == Backoff }

// InStoppedSet reports whether Supervisor counts the state as stopped.
func (s ProcessState) InStoppedSet() bool {
	return s == Stopped || s == Exited || s == Fatal || s == Unknown
}

// Signallable reports whether a signal can be sent in this state.
func (s ProcessState) Signallable() bool { return s == Starting || s == Running || s == Stopping }

// DaemonState is a state of the unit itself with Supervisor's number.
type DaemonState int

// The daemon states of Supervisor.
const (
	DaemonShutdown   DaemonState = -1
	DaemonRestarting DaemonState = 0
	DaemonRunning    DaemonState = 1
	DaemonFatal      DaemonState = 2
)

// String returns the name that supervisor.getState returns.
func (s DaemonState) String() string {
	switch s {
	case DaemonShutdown:
		return "SHUTDOWN"
	case DaemonRestarting:
		return "RESTARTING"
	case DaemonRunning:
		return "RUNNING"
	case DaemonFatal:
		return "FATAL"
	}
	return "UNKNOWN"
}
