// Command inhabitant is the only program of a container without a shell: it
// does what its first argument says.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

func main() {
	switch os.Args[1] {
	case "exit": // CODE
		code, _ := strconv.Atoi(os.Args[2])
		os.Exit(code)
	case "orphans": // HOW-MANY: children that it does not wait for
		many, _ := strconv.Atoi(os.Args[2])
		for i := range many {
			start(&syscall.SysProcAttr{Setsid: i%2 == 0}, "exit", "3")
		}
	case "escape": // a session, an environment and a user of its own, and deaf
		start(&syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}, "double")
		for {
			_ = syscall.Pause() // until TERM; the end of its child wakes it, too
		}
	case "double": // leaves its child to PID 1
		start(&syscall.SysProcAttr{Setsid: true}, "deaf")
	case "deaf":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("deaf")
		for {
			_ = syscall.Pause()
		}
	}
}

func start(attr *syscall.SysProcAttr, args ...string) {
	files := []*os.File{nil, os.Stdout, os.Stderr}
	_, err := os.StartProcess("/inhabitant", append([]string{"/inhabitant"}, args...), &os.ProcAttr{Env: []string{}, Files: files, Sys: attr})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
