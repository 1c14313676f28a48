package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/toskose/toskose/unit/config"
)

// defaultConfig is where the packager puts the configuration in an image.
const defaultConfig = "/toskose/unit/supervisord.conf"

const help = `toskose-unit supervises the processes of one container and speaks Supervisor's XML-RPC.

Usage:
  toskose-unit [run] [-c FILE]   supervise; FILE is a supervisord.conf
                                 (default ` + defaultConfig + `)
  toskose-unit health [-c FILE]  exit 0 when the unit of this container answers, else 1
  toskose-unit check FILE        print every problem and warning of a configuration; exit 2 when there
                                 is a problem
  toskose-unit --version
  toskose-unit --help

Examples:
  toskose-unit -c /etc/supervisord.conf
  toskose-unit check supervisord.conf
  SUPERVISORD_PORT=9001 toskose-unit health

Environment:
  SUPERVISORD_PASSWORD_FILE   a file with the password of the HTTP server
  SUPERVISORD_PASSWORD        the password itself; the file wins
  SUPERVISORD_USER            the user of the HTTP server, where the configuration has none
  SUPERVISORD_PORT            the port that health asks
  TOSKOSE_LABEL_NAME          a label that toskose.getComponents passes on, as name
No process that the unit starts gets the password or its file's name.

Signals: TERM, INT and QUIT end every process and then the unit; HUP does so and begins
again; USR2 reopens the logs; USR1, WINCH and CONT go to the processes that handle them.

Exit codes: 0 ended as asked for, 1 failed, 2 the configuration, its password or a port is wrong;
where an essential program (toskose_essential) ended by itself, that of the program, 128+n for signal n.
`

// parse finds the command among the arguments; run is the one without a name.
func parse(args []string) (command string, rest []string) {
	if len(args) == 0 {
		return "run", nil
	}
	switch args[0] {
	case "-h", "-help", "--help":
		return "help", nil
	case "-v", "-version", "--version":
		return "version", nil
	}
	if strings.HasPrefix(args[0], "-") {
		return "run", args
	}
	return args[0], args[1:]
}

// configFlags reads the flags of run and health: -c and -configuration, and -n
// and -nodaemon, which callers of supervisord give and which change nothing.
// (The package flag would be 20 KB of the binary.)
func configFlags(command string, args []string, s surroundings) (file string, given, ok bool) {
	refuse := func(format string, about string) (string, bool, bool) {
		fmt.Fprintf(s.stderr, "toskose-unit %s: "+format+"; see toskose-unit --help\n", command, about)
		return "", false, false
	}
	file = defaultConfig
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if len(arg) < 2 || arg[0] != '-' {
			return refuse("too many arguments: %s", strings.Join(append([]string{arg}, args...), " "))
		}
		name, value, assigned := strings.Cut(strings.TrimPrefix(arg[1:], "-"), "=")
		switch name {
		case "c", "configuration":
			if !assigned {
				if len(args) == 0 {
					return refuse("%s lacks its FILE", arg)
				}
				value, args = args[0], args[1:]
			}
			file, given = value, true
		case "n", "nodaemon":
		default:
			return refuse("there is no flag %s", arg)
		}
	}
	return file, given, true
}

// check prints all problems and warnings of a configuration.
func check(args []string, s surroundings) int {
	if len(args) != 1 || strings.HasPrefix(args[0], "-") {
		fmt.Fprintln(s.stderr, "toskose-unit check: it takes one FILE; see toskose-unit --help")
		return exitConfig
	}
	_, warnings, err := config.Load(args[0], s.env)
	for _, w := range warnings {
		fmt.Fprintf(s.stdout, "%s (warning)\n", w)
	}
	if err != nil {
		complain(s, err)
		return exitConfig
	}
	fmt.Fprintf(s.stdout, "%s is valid\n", args[0])
	return exitOK
}

// complain prints an error, every line of it.
func complain(s surroundings, err error) {
	var problems config.Problems
	if errors.As(err, &problems) {
		fmt.Fprintln(s.stderr, problems.Error())
		return
	}
	fmt.Fprintf(s.stderr, "toskose-unit: %v\n", err)
}
