//go:build unix && !linux

package contexts

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// sessionID identifies the session by its leader.
func sessionID() string {
	leader, err := unix.Getsid(0)
	if err != nil {
		return ""
	}
	return strconv.Itoa(leader)
}
