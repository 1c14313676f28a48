package config

import (
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// signalAliases are names that Supervisor has and golang.org/x/sys does not. C
// libraries reserve real-time signals below 34.
var signalAliases = map[string]syscall.Signal{
	"SIGCLD": unix.SIGCHLD, "SIGPOLL": unix.SIGIO, "SIGRTMIN": 34, "SIGRTMAX": 64,
}

// Signal returns the signal with a name, in any case, with or without SIG, or with a
// number, and whether there is one.
func Signal(text string) (syscall.Signal, bool) {
	name := strings.ToUpper(strings.TrimSpace(text))
	if n, err := strconv.Atoi(name); err == nil {
		return syscall.Signal(n), 1 <= n && n <= 64
	}
	if !strings.HasPrefix(name, "SIG") {
		name = "SIG" + name
	}
	if sig, ok := signalAliases[name]; ok {
		return sig, true
	}
	sig := unix.SignalNum(name)
	return sig, sig != 0
}
