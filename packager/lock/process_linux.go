package lock

import (
	"fmt"
	"os"
	"strings"
)

// origin identifies this boot of the machine and this process's PID namespace, or returns "" if they are unknown.
func origin() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + " " + namespace
}

// startOf returns the start time of a process in ticks since boot, or "" if it is not running. It distinguishes processes that
// reuse an ID.
func startOf(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	text := string(data)
	fields := strings.Fields(text[strings.LastIndex(text, ")")+1:]) // the program name may contain spaces
	const state, start = 0, 19                                      // fields 3 and 22 of proc(5)
	if len(fields) <= start || fields[state] == "Z" || fields[state] == "X" {
		return ""
	}
	return fields[start]
}
