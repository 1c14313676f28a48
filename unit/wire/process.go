package wire

// Stream is one of a process's two output streams.
type Stream string

// The output streams of a process.
const (
	Stdout Stream = "stdout"
	Stderr Stream = "stderr"
)

// ProcessInfo is the answer of supervisor.getProcessInfo. Times are seconds
// since 1970, 0 for never.
type ProcessInfo struct {
	Name          string       `json:"name" xmlrpc:"name"`
	Group         string       `json:"group" xmlrpc:"group"`
	Start         int64        `json:"start" xmlrpc:"start"`
	Stop          int64        `json:"stop" xmlrpc:"stop"`
	Now           int64        `json:"now" xmlrpc:"now"`
	State         ProcessState `json:"state" xmlrpc:"state"`
	StateName     string       `json:"statename" xmlrpc:"statename"`
	SpawnErr      string       `json:"spawnerr" xmlrpc:"spawnerr"`
	ExitStatus    int          `json:"exitstatus" xmlrpc:"exitstatus"` // -1: ended by a signal
	Logfile       string       `json:"logfile" xmlrpc:"logfile"`       // the same as StdoutLogfile
	StdoutLogfile string       `json:"stdout_logfile" xmlrpc:"stdout_logfile"`
	StderrLogfile string       `json:"stderr_logfile" xmlrpc:"stderr_logfile"`
	PID           int          `json:"pid" xmlrpc:"pid"` // 0: none
	Description   string       `json:"description" xmlrpc:"description"`
}

// ConfigInfo is an element of the result of supervisor.getAllConfigInfo. A field of type any holds
// a value of the commented type, or the string "none" for Supervisor's null.
type ConfigInfo struct {
	Autostart             bool   `json:"autostart"`
	Autorestart           any    `json:"autorestart"` // false, "auto" (always) or "unexpected"
	Directory             string `json:"directory"`   // "none": not set
	UID                   any    `json:"uid"`         // int
	Command               string `json:"command"`
	ExitCodes             []int  `json:"exitcodes"`
	Group                 string `json:"group"`
	GroupPrio             int    `json:"group_prio"`
	InUse                 bool   `json:"inuse"`
	KillAsGroup           bool   `json:"killasgroup"`
	Name                  string `json:"name"`
	ProcessPrio           int    `json:"process_prio"`
	RedirectStderr        bool   `json:"redirect_stderr"`
	StartRetries          int    `json:"startretries"`
	StartSecs             int    `json:"startsecs"`
	StdoutCaptureMaxBytes int64  `json:"stdout_capture_maxbytes"`
	StdoutEventsEnabled   bool   `json:"stdout_events_enabled"`
	StdoutLogfile         string `json:"stdout_logfile"` // a path, "auto" or "none"
	StdoutLogfileBackups  int    `json:"stdout_logfile_backups"`
	StdoutLogfileMaxBytes int64  `json:"stdout_logfile_maxbytes"`
	StdoutSyslog          bool   `json:"stdout_syslog"`
	StderrCaptureMaxBytes int64  `json:"stderr_capture_maxbytes"`
	StderrEventsEnabled   bool   `json:"stderr_events_enabled"`
	StderrLogfile         string `json:"stderr_logfile"`
	StderrLogfileBackups  int    `json:"stderr_logfile_backups"`
	StderrLogfileMaxBytes int64  `json:"stderr_logfile_maxbytes"`
	StderrSyslog          bool   `json:"stderr_syslog"`
	StopSignal            int    `json:"stopsignal"`
	StopWaitSecs          int    `json:"stopwaitsecs"`
	ServerURL             string `json:"serverurl"` // a URL, "auto" or "none"
}

// ProcessStatus is the result for one process of a method that acts on several: Success and "OK",
// or the fault and its text.
type ProcessStatus struct {
	Name        string    `json:"name" xmlrpc:"name"`
	Group       string    `json:"group" xmlrpc:"group"`
	Status      FaultCode `json:"status" xmlrpc:"status"`
	Description string    `json:"description" xmlrpc:"description"`
}

// LogTail is the answer of supervisor.tailProcessStdoutLog and its sibling.
type LogTail struct {
	Data     string
	Offset   int64 // the offset for the next read
	Overflow bool  // more was added than requested
}
