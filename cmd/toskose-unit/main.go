// Command toskose-unit supervises the processes of one container: it is the container's first
// process, runs the operations of its components, and serves Supervisor's XML-RPC API.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// version is set when a release is built.
var version = "dev"

// programsFlag makes health also ask whether the programs work.
const programsFlag = "--programs"

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitConfig = 2 // the command line, the configuration or a port is invalid
)

// system is the environment of the process.
type system struct {
	stdout, stderr io.Writer
	program        string // argv[0]
	env            map[string]string
}

func main() {
	env := map[string]string{}
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		env[name] = value
	}
	s := system{stdout: os.Stdout, stderr: os.Stderr, program: os.Args[0], env: env}
	os.Exit(run(context.Background(), os.Args[1:], s))
}

// run executes a command line and returns the exit code.
func run(ctx context.Context, args []string, s system) int {
	command, args := parse(args)
	switch command {
	case "run":
		return supervise(ctx, args, s)
	case "health":
		path := "/healthz"
		if at := slices.Index(args, programsFlag); at >= 0 {
			path, args = "/livez", slices.Delete(slices.Clone(args), at, at+1)
		}
		return ask(ctx, command, path, args, s)
	case "pulse":
		return pulse(ctx, args, s)
	case "ready":
		return ask(ctx, command, "/readyz", args, s)
	case "check":
		return check(args, s)
	case "exec":
		return runExec(args, s)
	case "copy":
		return copyItself(args, s)
	case "version":
		fmt.Fprintln(s.stdout, version)
		return exitOK
	case "help":
		fmt.Fprint(s.stdout, help)
		return exitOK
	}
	fmt.Fprintf(s.stderr, "toskose-unit: unknown command %q; see toskose-unit --help\n", command)
	return exitConfig
}
