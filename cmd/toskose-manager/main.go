// Command toskose-manager serves the REST API of one application: it routes
// operations to the units in the application's containers and reports their
// states. It is the only process of its container and has no children.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

var version = "dev" // set by -ldflags

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	code := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// isSet reports whether a flag was given.
func isSet(flags *flag.FlagSet, name string) (set bool) {
	flags.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}

// run runs the program and returns its exit code: 2 for a usage error.
func run(ctx context.Context, args []string, getenv func(string) string, out, errOut io.Writer) int {
	flags := flag.NewFlagSet("toskose-manager", flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.Usage = func() { fmt.Fprint(errOut, usage) }
	files := paths{resolver: "/etc/resolv.conf"}
	flags.StringVar(&files.app, "app", "/toskose/manager/app.json", "")
	flags.StringVar(&files.attach, "attach", "", "")
	showVersion := flags.Bool("version", false, "")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if files.attach != "" && isSet(flags, "app") {
		fmt.Fprintln(errOut, "toskose-manager: --app and --attach exclude each other")
		return 2
	}
	var err error
	switch command := flags.Arg(0); {
	case *showVersion:
		fmt.Fprintln(out, "toskose-manager", version)
	case command == "health" && flags.NArg() == 1:
		err = health(ctx, getenv)
	case command == "volume": // internal: only for `toskose volume`
		err = volume(ctx, flags.Args()[1:], getenv, os.Stdin, out)
	case (command == "" || command == "serve") && flags.NArg() <= 1:
		err = serve(ctx, files, getenv, out, errOut)
	default:
		flags.Usage()
		return 2
	}
	if err != nil {
		fmt.Fprintln(errOut, "toskose-manager:", err)
		return 1
	}
	return 0
}
