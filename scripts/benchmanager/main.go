// Command benchmanager measures the manager with many real units: how long it takes to discover
// them, its memory and processor time, the latency of states and events, how long it takes to
// reach a goal and to restart a component that exited, compared with other supervisors on the same
// machine, how long a Task takes compared with a Kubernetes Job, the latency of log lines for one
// and for many followers, the latency that it adds to a unit's requests, and its request rate. It
// exits with status 1 if a row misses its goal or another supervisor is not available.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/toskose/toskose/manager"
)

func main() {
	binary := flag.String("unit", "bin/toskose-unit", "the unit")
	count := flag.Int("units", 1000, "number of units")
	idle := flag.Duration("idle", time.Minute, "duration of the measurements of an idle manager and of a crash loop")
	each := flag.Duration("operation", time.Second, "duration of each operation on the way to a goal")
	log := flag.Int("log", 100, "number of megabytes that each of many followers reads")
	only := flag.String("only", "", "only `WHAT`: many, goal, restarts, crashes, tasks, logs or requests")
	flag.Parse()
	missed, err := run(*binary, *only, *count, *log, *idle, *each)
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchmanager:", err)
	}
	if err != nil || missed {
		os.Exit(1)
	}
}

func run(binary, only string, count, log int, idle, each time.Duration) (missed bool, err error) {
	binary, err = filepath.Abs(binary)
	if err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "benchmanager")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	b := &bench{dir: dir}
	for _, measure := range []struct {
		name string
		do   func() error
	}{
		{"many", func() error { return b.many(binary, count, idle) }},
		{"goal", func() error { return b.reachGoal(binary, each) }},
		{"restarts", func() error { return b.restarts(binary) }},
		{"crashes", func() error { return b.crashLoop(binary, idle) }},
		{"tasks", func() error { return b.tasks(binary) }},
		{"logs", func() error { return b.readLogs(binary, log) }},
		{"requests", func() error { return b.requests(binary, count) }},
	} {
		if only != "" && only != measure.name {
			continue
		}
		if err := measure.do(); err != nil {
			return false, err
		}
	}
	return b.missed, nil
}

type bench struct {
	dir    string
	units  *fleet
	app    *manager.App
	missed bool
}

// row prints a measurement and its goal; 0 means no goal.
func (b *bench) row(what string, got, goal float64, unit string) {
	if goal == 0 {
		fmt.Printf("%-52s %10.2f %s\n", what, got, unit)
		return
	}
	verdict := "ok"
	if got > goal {
		verdict, b.missed = "MISSED", true
	}
	fmt.Printf("%-52s %10.2f %-4s (goal %g) %s\n", what, got, unit, goal, verdict)
}

// lacks prints that a measurement is missing, and why: a comparison needs both sides.
func (b *bench) lacks(what string, why error) {
	b.missed = true
	fmt.Printf("%-52s %10s MISSING: %v\n", what, "-", why)
}

// resident prints this process's memory according to /proc.
func (b *bench) resident(key, what string, goal float64) error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	_, after, _ := strings.Cut(string(status), key+":")
	var kilobytes float64
	if _, err := fmt.Sscan(after, &kilobytes); err != nil {
		return err
	}
	b.row(what, kilobytes/1024, goal, "MB")
	return nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func used() (time.Duration, error) {
	var r syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()), err
}

// median sorts its argument.
func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
