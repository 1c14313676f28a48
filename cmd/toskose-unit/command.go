package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/toskose/toskose/unit/config"
)

// defaultConfig is the path of the configuration in toskosed images.
const defaultConfig = "/toskose/unit/supervisord.conf"

const help = `toskose-unit supervises the processes of one container and serves Supervisor's XML-RPC API.

Usage:
  toskose-unit [run] [FLAGS]     supervise; FLAGS are those of supervisord
  toskose-unit health [--programs] [-c FILE]
                                 exit 0 if the unit of this container works, else 1; with --programs,
                                 also 1 if a program with autostart is FATAL, or a program fails its
                                 liveness checks (toskose_live_…)
  toskose-unit pulse [-c FILE]   like health, but from 5 s after the start of the container on it takes
                                 4 s to exit with 0, for an engine with a short check interval
  toskose-unit ready [-c FILE]   exit 0 if the unit works and the components are in the states that the
                                 goal requires, else 1
  toskose-unit check FILE        print every problem and warning of a configuration; exit 2 if there is
                                 a problem
  toskose-unit exec COMPONENT [-- COMMAND...]
                                 run a command, or a shell, with the user, folder and environment of a
                                 component's processes
  toskose-unit copy FILE         copy this binary to FILE, as an init container does
  toskose-unit --version
  toskose-unit --help

Flags, of which short ones can be combined (-nc FILE); each overrides the key of [supervisord]:
  -c, --configuration FILE   a supervisord.conf; default: ` + defaultConfig + `
                             if it exists, else where supervisord looks for one
  -l, --logfile FILE         -y, --logfile_maxbytes BYTES   -z, --logfile_backups NUM
  -e, --loglevel LEVEL       -j, --pidfile FILE             -i, --identifier STR
  -u, --user USER            -q, --childlogdir DIR          -k, --nocleanup
  -s, --silent               -t, --strip_ansi               -a, --minfds NUM, --minprocs NUM
  -m, --umask UMASK
  -n, --nodaemon             accepted: the unit always runs in the foreground, and so
  -d, --directory DIR        does not change its directory

Examples:
  toskose-unit -c /etc/supervisord.conf
  toskose-unit check supervisord.conf
  SUPERVISORD_PORT=9001 toskose-unit health

Environment:
  SUPERVISORD_PASSWORD_FILE   a file with the password of the HTTP server
  SUPERVISORD_PASSWORD        the password itself; the file takes precedence
  SUPERVISORD_USER            the user of the HTTP server, if the configuration has none
  SUPERVISORD_PORT            the port that health, pulse and ready connect to
  TOSKOSE_UNIT_LISTEN         HOST:PORT or :PORT: the unit joins an application that its
                              configuration does not mention. It serves its API there, beside
                              the configured servers, with the user (default admin) and password
                              above; neither the configuration nor a process sees the variables
  TOSKOSE_UNIT_TLS_CERT, TOSKOSE_UNIT_TLS_KEY, TOSKOSE_UNIT_TLS_CLIENT_CA
                              PEM files, to serve the API at TOSKOSE_UNIT_LISTEN by TLS
  TOSKOSE_LABEL_NAME          a label of this container, passed on to the manager as name
No process that the unit starts inherits the password or the name of its file.

Signals: TERM, INT and QUIT stop every process and then the unit; HUP does so and starts
again; USR2 reopens the logs; USR1, WINCH and CONT go to the processes that handle them.

Exit codes: 0 stopped on request, 1 failed, 2 the configuration, its password or a port is wrong;
if an essential program (toskose_essential) exited, its exit code, or 128+n for signal n;
for a job (toskose_job), that of the failed operation, 124 after its deadline, 143 if it was stopped before its end.
`

// parse returns the command in the arguments; the default is run.
func parse(args []string) (command string, rest []string) {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return "run", args
	}
	return args[0], args[1:]
}

// parseCommandFlags parses the flags of run, health, pulse and ready. On an error, --help or
// --version it prints the response, and ok is false.
func parseCommandFlags(command string, args []string, s system) (f flags, code int, ok bool) {
	f, err := parseFlags(args)
	switch {
	case err != nil:
		fmt.Fprintf(s.stderr, "toskose-unit %s: %v; see toskose-unit --help\n", command, err)
		return f, exitConfig, false
	case f.help:
		fmt.Fprint(s.stdout, help)
		return f, exitOK, false
	case f.version:
		fmt.Fprintln(s.stdout, version)
		return f, exitOK, false
	}
	return f, exitOK, true
}

// check prints all problems and warnings of a configuration.
func check(args []string, s system) int {
	if len(args) != 1 || strings.HasPrefix(args[0], "-") {
		fmt.Fprintln(s.stderr, "toskose-unit check: needs one FILE; see toskose-unit --help")
		return exitConfig
	}
	_, warnings, err := config.Load(args[0], s.env)
	for _, w := range warnings {
		fmt.Fprintf(s.stdout, "%s (warning)\n", w)
	}
	if err != nil {
		printError(s, err)
		return exitConfig
	}
	fmt.Fprintf(s.stdout, "%s is valid\n", args[0])
	return exitOK
}

// printError prints an error, line by line.
func printError(s system, err error) {
	var problems config.Problems
	if errors.As(err, &problems) {
		fmt.Fprintln(s.stderr, problems.Error())
		return
	}
	fmt.Fprintf(s.stderr, "toskose-unit: %v\n", err)
}
