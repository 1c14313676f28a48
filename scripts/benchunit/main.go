// Command benchunit compares the unit with Debian's supervisord and tini, and prints one table. As root, it runs
// every contender as PID 1 of a separate namespace. The same client queries all of them over a unix socket.
//
//	make build && go run ./scripts/benchunit [-runs N] [-only PART] [-unit FILE] [-beside FILE] [-joined]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// role is the environment variable that makes this binary act as one of the processes of a measurement.
const role = "TOSKOSE_BENCH_ROLE"

func main() {
	var err error
	switch os.Getenv(role) {
	case "init":
		err = becomeInit()
	case "chatter":
		err = chatter(os.Stdout, chatterBytes)
	case "lines":
		err = writeLines()
	case "punctual":
		err = writePunctually()
	default:
		err = run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchunit:", err)
		os.Exit(1)
	}
}

func run() error {
	runs := flag.Int("runs", 5, "number of repetitions of short measurements; long ones are repeated less often")
	only := flag.String("only", "", "run only measurements whose names contain `TEXT`")
	binary := flag.String("unit", "bin/toskose-unit", "the unit's binary, built by make build")
	joined := flag.Bool("joined", false, "make the unit join an application by its environment, as toskose attach does")
	beside := flag.String("beside", "", "another build of the unit, to compare with instead of supervisord and tini")
	flag.Parse()
	dir, err := os.MkdirTemp("", "benchunit")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	begun := time.Now()
	contenders := find(*binary)
	contenders[0].joins = *joined
	if *beside != "" {
		contenders = []contender{contenders[0], unitAt("beside", *beside)}
	}
	t := table{contenders: contenders}
	for _, m := range measures(*runs) {
		if !strings.Contains(m.name, *only) {
			continue
		}
		if err := t.measure(dir, m); err != nil {
			return err
		}
	}
	t.print(os.Stdout)
	where := "each as PID 1 of a namespace"
	if os.Geteuid() != 0 {
		where = "not as PID 1, which requires root, so orphans were not measured"
	}
	fmt.Printf("\n%s, %d processors, %s; it took %s\n", runtime.GOARCH, runtime.NumCPU(), where, time.Since(begun).Round(time.Second))
	return nil
}

// find returns the contenders, the unit first, and prints which of them are not installed.
func find(unit string) []contender {
	contenders := []contender{unitAt(theUnit, unit)}
	if path, err := exec.LookPath("supervisord"); err == nil {
		s := contender{name: "supervisord", path: path, speaks: true, flags: []string{"-n"}}
		s.files = supervisorFiles(path)
		contenders = append(contenders, s)
	} else {
		fmt.Println("supervisord is not installed (Debian package supervisor); there is no comparison")
	}
	if path, err := exec.LookPath("tini"); err == nil {
		contenders = append(contenders, contender{name: "tini", path: path, files: []string{path}})
	} else {
		fmt.Println("tini is not installed (Debian package tini); it is skipped")
	}
	return contenders
}

func unitAt(name, path string) contender {
	return contender{name: name, path: path, files: []string{path}, speaks: true}
}

// supervisorFiles returns the files counted in supervisord's size: its package, the Python
// interpreter and the loaded modules. The shared libraries of Python are not counted.
func supervisorFiles(path string) []string {
	const script = `
import sys, supervisor.supervisord, supervisor.rpcinterface, supervisor.http
print(sys.executable)
for m in list(sys.modules.values()):
    f = getattr(m, "__file__", None)
    if f: print(f)
`
	out, err := exec.CommandContext(context.Background(), interpreter(path), "-c", script).Output()
	if err != nil {
		fmt.Println("the size of supervisord only includes its script:", err)
	}
	files := []string{path}
	for _, line := range splitLines(string(out)) {
		if real, err := filepath.EvalSymlinks(line); err == nil {
			files = append(files, real)
		}
	}
	return files
}

// interpreter returns the interpreter in the first line of a script.
func interpreter(script string) string {
	text, _ := os.ReadFile(script)
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimPrefix(line, "#!")
}

// theUnit is the name of the contender with which all others are compared.
const theUnit = "unit"

var errNotApplicable = errors.New("does not apply")
