package contexts

import (
	"bytes"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// sessionID identifies the session by its leader and, since the numbers of processes are used again, by the time at which the
// leader started, which is unknown if it has exited.
func sessionID() string {
	leader, err := unix.Getsid(0)
	if err != nil {
		return ""
	}
	started := []byte("0")
	const startTime = 19 // the field of proc_pid_stat(5), counted from the one after the command
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", leader)); err == nil {
		if fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]); len(fields) > startTime {
			started = fields[startTime]
		}
	}
	return fmt.Sprintf("%d-%s", leader, started)
}
