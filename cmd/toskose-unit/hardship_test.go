package main_test

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toskose/toskose/unit/wire"
)

// longEnv makes the tests below take as long as it takes to be sure.
const longEnv = "TOSKOSE_TEST_LONG"

// scale is how much of something a test makes: some, or with longEnv a lot.
func scale(some, many int) int {
	if os.Getenv(longEnv) != "" {
		return many
	}
	return some
}

// children returns the state of every child of the unit, by its pid outside.
func (c *container) children() map[int]string {
	c.t.Helper()
	found := map[int]string{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // ended meanwhile
		}
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if fields[1] == strconv.Itoa(c.cmd.Process.Pid) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			found[pid] = fields[0]
		}
	}
	return found
}

// eventually asks again and again, until a question has the answer: with longEnv, where
// what is waited for is tens of times as much, ten times as long.
func (c *container) eventually(what string, question func() bool) {
	c.t.Helper()
	limit := time.Duration(scale(1, 10)) * patience
	for end := time.Now().Add(limit); !question(); {
		select {
		case <-c.exited:
			c.t.Fatalf("the unit ended:\n%s", c.stderr)
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(end) {
			c.t.Fatalf("never: %s", what)
		}
	}
}

// living is children without those that have ended and are to be reaped.
func (c *container) living() map[int]string {
	c.t.Helper()
	found := c.children()
	maps.DeleteFunc(found, func(_ int, state string) bool { return state == "Z" })
	return found
}

// noZombies waits until the unit has reaped all that has ended.
func (c *container) noZombies() {
	c.t.Helper()
	c.eventually("no zombie is left", func() bool {
		for _, state := range c.children() {
			if state == "Z" {
				return false
			}
		}
		return true
	})
}

func (c *container) all() []wire.ProcessInfo {
	c.t.Helper()
	var infos []wire.ProcessInfo
	if err := c.call(&infos, "supervisor.getAllProcessInfo"); err != nil {
		c.t.Fatal(err)
	}
	return infos
}

// inState waits until a process is in a state, and gives it.
func (c *container) inState(name string, state wire.ProcessState) wire.ProcessInfo {
	c.t.Helper()
	var info wire.ProcessInfo
	c.eventually(name+" is "+state.String(), func() bool {
		info = c.info(name)
		return info.State == state
	})
	return info
}

// manual is the section of a program that runs when it is asked to, and once.
func manual(name, script string, more ...string) string {
	return fmt.Sprintf("[program:%s]\ncommand=/bin/sh -c '%s'\ndirectory=DIR\nautostart=false\nautorestart=false\nstartsecs=0\n%s\n",
		name, strings.ReplaceAll(script, "'", `'\''`), strings.Join(more, "\n"))
}

func TestAllExitCodesAreKept(t *testing.T) {
	t.Parallel()
	c := newContainer(t, manual("code", "exit %(process_num)d",
		"numprocs=256", "process_name=%(process_num)d", "stdout_logfile=NONE", "stderr_logfile=NONE")+
		manual("signal", "kill -%(process_num)d $$",
			"numprocs=15", "numprocs_start=1", "process_name=%(process_num)d", "stdout_logfile=NONE", "stderr_logfile=NONE")).boot()
	c.must("supervisor.startAllProcesses", false)
	var infos []wire.ProcessInfo
	c.eventually("all have exited", func() bool {
		infos = c.all()
		for _, info := range infos {
			if info.State != wire.Exited {
				return false
			}
		}
		return true
	})
	if len(infos) != 256+15 {
		t.Errorf("there are %d processes", len(infos))
	}
	for _, info := range infos {
		want, _ := strconv.Atoi(info.Name)
		if info.Group == "signal" {
			want = -1
		}
		if info.ExitStatus != want {
			t.Errorf("%s:%s ended with %d", info.Group, info.Name, info.ExitStatus)
		}
	}
	c.noZombies()
	log := c.read("unit.log")
	for _, signal := range []string{"KILL", "SEGV", "TERM", "HUP"} {
		if !strings.Contains(log, "SIG"+signal) {
			t.Errorf("the log does not name SIG%s", signal)
		}
	}
	c.terminate()
}

func TestAStormOfOrphansLeavesNoZombieAndHidesNoExit(t *testing.T) {
	t.Parallel()
	storm := fmt.Sprintf("i=0; while [ $i -lt %d ]; do (exit 3 & setsid true & ) & i=$((i+1)); done", scale(300, 20_000))
	c := newContainer(t, manual("storm", storm)+manual("seven", "sleep 0.2; exit 7")).boot()
	c.must("supervisor.startProcess", "storm")
	for range 5 {
		c.must("supervisor.startProcess", "seven")
		if info := c.inState("seven", wire.Exited); info.ExitStatus != 7 {
			t.Errorf("in the storm, 7 became %d", info.ExitStatus)
		}
	}
	c.inState("storm", wire.Exited)
	c.eventually("no child is left", func() bool { return len(c.children()) == 0 })
	c.terminate()
}

func TestASignalStormChangesNothing(t *testing.T) {
	t.Parallel()
	c := newContainer(t, manual("victim", `trap "exit 9" USR2; echo up > up; while :; do sleep 0.02; done`)+
		manual("seven", "exit 7")).boot()
	c.must("supervisor.startProcess", "victim")
	c.until("up", "up")
	before := c.info("victim").PID
	// All but those that end or restart the unit, those that stop it or that
	// nothing survives, those by which a process says that it is broken, and the
	// two real-time ones that a libc takes for its own.
	spare := map[syscall.Signal]bool{
		syscall.SIGHUP: true, syscall.SIGINT: true, syscall.SIGQUIT: true, syscall.SIGTERM: true, syscall.SIGKILL: true,
		syscall.SIGSTOP: true, syscall.SIGILL: true, syscall.SIGTRAP: true, syscall.SIGABRT: true, syscall.SIGBUS: true,
		syscall.SIGFPE: true, syscall.SIGSEGV: true, syscall.SIGSTKFLT: true, syscall.SIGSYS: true,
		syscall.SIGTSTP: true, syscall.SIGTTIN: true, syscall.SIGTTOU: true,
	}
	for range scale(200, 20_000) {
		for sig := syscall.Signal(1); sig <= 64; sig++ {
			if spare[sig] || sig == 32 || sig == 33 {
				continue
			}
			if err := c.cmd.Process.Signal(sig); err != nil {
				t.Fatalf("signal %d: %v", sig, err)
			}
		}
	}
	c.must("supervisor.startProcess", "seven")
	if info := c.inState("seven", wire.Exited); info.ExitStatus != 7 {
		t.Errorf("7 became %d", info.ExitStatus)
	}
	if after := c.info("victim"); after.PID != before || after.State != wire.Running {
		t.Errorf("the victim, process %d, is %+v", before, after)
	}
	c.must("supervisor.signalProcess", "victim", "USR2")
	if info := c.inState("victim", wire.Exited); info.ExitStatus != 9 {
		t.Errorf("9 became %d", info.ExitStatus)
	}
	c.noZombies()
	c.terminate()
}

func TestWhatIgnoresTermIsKilledAfterItsGraceAndNotBefore(t *testing.T) {
	t.Parallel()
	deaf := `trap "" TERM; setsid sh -c "trap \"\" TERM; echo child >> up; while :; do sleep 0.02; done" & echo main >> up; while :; do sleep 0.02; done`
	c := newContainer(t, manual("deaf", deaf, "stopwaitsecs=1")).boot()
	for range 2 {
		c.write("up", "")
		c.must("supervisor.startProcess", "deaf")
		c.until("up", "child")
		c.until("up", "main")
		c.must("supervisor.stopProcess", "deaf")
		if info := c.info("deaf"); info.State != wire.Stopped || info.ExitStatus != -1 {
			t.Errorf("deaf: %+v", info)
		}
		if left := c.living(); len(left) != 0 {
			t.Errorf("the stop answered, and these are left: %v", left)
		}
		c.noZombies()
	}
	c.write("up", "")
	c.must("supervisor.startProcess", "deaf")
	c.until("up", "child")
	if took := c.terminate(); took < time.Second {
		t.Errorf("the end left no grace: it took %s", took)
	}
}

func TestAMillionLinesOfLogAreAllThere(t *testing.T) {
	t.Parallel()
	lines := scale(1_000_000, 20_000_000)
	c := newContainer(t, manual("seq", fmt.Sprintf("exec seq %d", lines), "stdout_logfile=DIR/seq.log", "stdout_logfile_maxbytes=0")).boot()
	c.must("supervisor.startProcess", "seq")
	c.inState("seq", wire.Exited)
	file, err := os.Open(filepath.Join(c.dir, "seq.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	n := 0
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		n++
		if scanner.Text() != strconv.Itoa(n) {
			t.Fatalf("line %d is %q", n, scanner.Text())
		}
	}
	if n != lines {
		t.Errorf("the log has %d lines, want %d", n, lines)
	}
	c.noZombies()
	c.terminate()
}

func TestAComponentCannotEndTheUnitByTheSignalOfAFault(t *testing.T) {
	t.Parallel()
	const script = `for s in ABRT BUS FPE ILL SEGV STKFLT SYS TRAP; do for i in 1 2 3 4 5 6 7 8 9; do kill -$s $PPID; done; done; echo done`
	c := newContainer(t, component("api", map[string]string{"create": script}, "")).boot()
	if x := c.run("api", "create"); x.Stdout != "done\n" {
		t.Errorf("the operation ended so: %+v", x)
	}
	c.terminate()
}
