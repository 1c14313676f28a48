package contexts

import (
	"os"
	"strconv"
)

// sessionID identifies the session by the shell that started this process.
func sessionID() string { return strconv.Itoa(os.Getppid()) }
