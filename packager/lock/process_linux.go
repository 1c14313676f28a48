package lock

import (
	"fmt"
	"os"
	"strings"
)

// origin identifies the boot of this machine and the namespace of this process's id; empty: unknown.
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

// startOf returns when a process has started, in ticks since the boot; empty: it does not run. An id may be
// used again, by a process that starts later.
func startOf(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	text := string(data)
	fields := strings.Fields(text[strings.LastIndex(text, ")")+1:]) // the name of a program may have spaces
	const state, start = 0, 19                                      // fields 3 and 22 of proc(5)
	if len(fields) <= start || fields[state] == "Z" || fields[state] == "X" {
		return ""
	}
	return fields[start]
}
