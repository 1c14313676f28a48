package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/unit/reaper/reapertest"
	"github.com/toskose/toskose/unit/wire"
)

// TERM reaches a program whenever it comes: the unit forks and executes in one
// step, and a stop waits for its end.
func TestAStopRightAfterAStartIsNotLost(t *testing.T) {
	t.Parallel()
	c := newContainer(t, plain("sleep", "sleep 1000", "stopwaitsecs=600")).boot()
	for range 50 {
		if err := c.call(nil, "supervisor.startProcess", "sleep", false); err != nil {
			t.Fatal(err)
		}
		if err := c.call(nil, "supervisor.stopProcess", "sleep"); err != nil {
			t.Fatal(err)
		}
	}
	log := c.read("unit.log")
	if terms := strings.Count(log, "exit=SIGTERM"); terms != 50 || strings.Contains(log, "SIGKILL") {
		t.Errorf("TERM ended it %d times", terms)
	}
}

// TestShutdownGoesByPriorityAndInParallelWithinOne has two programs that end
// only together, and one of a lower priority that sees that they have.
func TestShutdownGoesByPriorityAndInParallelWithinOne(t *testing.T) {
	t.Parallel()
	loop := func(onTERM string) string {
		return `/bin/sh -c 'trap "` + onTERM + `; exit 0" TERM; echo up >> up; while :; do sleep 0.02; done'`
	}
	together := func(mine, other string) string {
		return fmt.Sprintf("echo > %s-asked; while [ ! -e %s-asked ]; do sleep 0.02; done; echo > %s-ended", mine, other, mine)
	}
	c := newContainer(t, plain("a", loop(together("a", "b")), "priority=20\nautostart=true\nstopwaitsecs=600")+
		plain("b", loop(together("b", "a")), "priority=20\nautostart=true\nstopwaitsecs=600")+
		plain("last", loop("ls > seen"), "priority=10\nautostart=true\nstopwaitsecs=600")).boot()
	c.until("up", "up\nup\nup\n")
	c.terminate()
	if seen := c.read("seen"); !strings.Contains(seen, "a-ended") || !strings.Contains(seen, "b-ended") {
		t.Errorf("the last one saw\n%s", seen)
	}
	if strings.Contains(c.read("unit.log"), "SIGKILL") {
		t.Error("one was killed")
	}
}

func TestAtTheEndOfTheOneGraceAllOfTheTreeIsKilled(t *testing.T) {
	t.Parallel()
	const stubborn = `setsid sh -c "trap true TERM; echo up >> up; while :; do sleep 0.02; done" & `
	for name, main := range map[string]string{
		"when the main process ended at once":   `exec sleep 1000`,
		"when the main process ignores it, too": `trap "" TERM; echo up >> up; while :; do sleep 0.02; done`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newContainer(t, plain("tree", `/bin/sh -c '`+stubborn+main+`'`, "stopwaitsecs=1")).boot()
			if err := c.call(nil, "supervisor.startProcess", "tree"); err != nil {
				t.Fatal(err)
			}
			c.until("up", strings.Repeat("up\n", 1+strings.Count(main, "up >> up")))
			if err := c.call(nil, "supervisor.stopProcess", "tree"); err != nil {
				t.Error(err)
			}
			if info := c.info("tree"); info.State != wire.Stopped {
				t.Errorf("it is %s", info.StateName)
			}
			c.isEmpty()
		})
	}
}

// A process that forks and ends all the time is nowhere when one looks for it.
func TestWhatForksAndEndsAllTheTimeIsStopped(t *testing.T) {
	t.Parallel()
	relay := strings.Join(reapertest.Relay(100*time.Microsecond), " ")
	c := newContainer(t, plain("relay", `/bin/sh -c '`+relay+` & exec sleep 1000'`, "stopwaitsecs=1\nstartsecs=0")).boot()
	stops := 5
	if os.Getenv(longEnv) != "" {
		stops = 20
	}
	for range stops {
		if err := c.call(nil, "supervisor.startProcess", "relay"); err != nil {
			t.Fatal(err)
		}
		var log string
		for end := time.Now().Add(patience); log == "" && time.Now().Before(end); {
			if err := c.call(&log, "supervisor.readProcessStdoutLog", "relay", 0, 0); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		if err := c.call(nil, "supervisor.stopProcess", "relay"); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took < time.Second {
			t.Errorf("stopped after %v, but it ignores TERM", took)
		}
		c.isEmpty()
		c.must("supervisor.clearProcessLogs", "relay")
	}
}

// leaving leaves a process whose parent has ended, with the environment and the
// limits that su gives it. It ends once the process has a session of its own: until
// then its group tells whose it is.
const leaving = `su - nobody -s /bin/sh -c "{ setsid sh -c \"echo; exec sleep 2000 >/dev/null\" 2>/dev/null & } | read line"`

// escaping is leaving once the unit, whose limits su takes, has no mark itself:
// then neither limit nor environment mark the process.
const escaping = `until grep -q "realtime timeout *unlimited" /proc/1/limits; do :; done; ` + leaving

// mayEscape skips a test where escaping does not work.
func mayEscape(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("su"); err != nil || os.Getuid() != 0 {
		t.Skip("only root changes the user by su")
	}
}

func TestWhatSuLeavesIsStoppedWithItsProgram(t *testing.T) {
	t.Parallel()
	mayEscape(t)
	for name, left := range map[string]int{"true": 0, "false": 1} {
		t.Run("toskose_coredump_mark="+name, func(t *testing.T) {
			t.Parallel()
			c := newContainer(t, plain("db", `/bin/sh -c '`+escaping+`; echo up >> up; exec sleep 1000'`, "stopwaitsecs=600"))
			conf := strings.Replace(c.read("supervisord.conf"), "[supervisord]\n", "[supervisord]\ntoskose_coredump_mark="+name+"\n", 1)
			c.write("supervisord.conf", conf)
			c.boot()
			for stop := range 2 {
				c.must("supervisor.startProcess", "db", false)
				c.until("up", strings.Repeat("up\n", 1+stop))
				c.must("supervisor.stopProcess", "db")
				if s := c.snapshot(); len(s.Unclaimed) != left*(1+stop) {
					t.Errorf("after stop %d unclaimed are %+v", stop, s.Unclaimed)
				}
			}
			if left == 0 {
				c.isEmpty()
			}
		})
	}
}

// While a program is forked, su in another one takes that program's limits.
func TestWhatSuStartsIsNotOfAProgramThatIsStartedMeanwhile(t *testing.T) {
	t.Parallel()
	mayEscape(t)
	const rounds = 12
	script := fmt.Sprintf(`echo up >> up; i=0; while [ $i -lt %d ]; do %s; i=$((i+1)); done; echo all >> up; exec sleep 1000`, rounds, leaving)
	c := newContainer(t, plain("db", `/bin/sh -c '`+script+`'`, "stopwaitsecs=600")+
		plain("web", "/bin/sleep 1000", "stopwaitsecs=600")).boot()
	c.must("supervisor.startProcess", "db", false)
	c.until("up", "up\n")
	for !strings.Contains(c.read("up"), "all\n") {
		c.must("supervisor.startProcess", "web", false)
		c.must("supervisor.stopProcess", "web")
	}
	left := c.snapshot().Unclaimed // with those of programs
	left = slices.DeleteFunc(left, func(p wire.Process) bool { return p.Operation != "db:db" })
	if len(left) != 1+rounds {
		t.Errorf("beside the main process %d were started, and there are %+v", rounds, left)
	}
	c.must("supervisor.stopProcess", "db")
	c.isEmpty()
}

// What PAM resets is known as the component's, though not as that operation's.
func TestWhatSuLeavesInAComponentEndsWithItsStart(t *testing.T) {
	t.Parallel()
	mayEscape(t)
	c := newContainer(t, component("db", map[string]string{"create": escaping, "start": "exec sleep 1000"}, "")+
		component("api", map[string]string{"start": "exec sleep 1000"}, "")).boot()
	outcome(t, c.run("api", "start"), wire.OutcomeSucceeded)
	outcome(t, c.run("db", "create"), wire.OutcomeSucceeded)
	if db := c.component("db"); len(db.Processes) != 1 || db.Processes[0].Operation != "Standard.start" {
		t.Errorf("create left %+v", db.Processes)
	}
	outcome(t, c.run("db", "start"), wire.OutcomeSucceeded)
	outcome(t, c.run("db", "stop"), wire.OutcomeSucceeded)
	if db := c.component("db"); len(db.Processes) != 0 {
		t.Errorf("its stop left %+v", db.Processes)
	}
	if s := c.snapshot(); len(s.Unclaimed) != 0 {
		t.Errorf("unclaimed are %+v", s.Unclaimed)
	}
	if api := c.component("api"); len(api.Processes) != 1 {
		t.Errorf("of its neighbour there are %+v", api.Processes)
	}
}

// While the parents stand they tell whose a process is, without any mark.
func TestWhatTheMainProcessHasStartedIsKnownBeforeItIsStopped(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("prlimit"); err != nil {
		t.Skip(err)
	}
	script := `prlimit --rttime=unlimited env -i setsid sleep 2000 & echo up >> up; exec sleep 1000`
	c := newContainer(t, plain("db", `/bin/sh -c '`+script+`'`, "stopwaitsecs=600"))
	c.write("supervisord.conf", strings.Replace(c.read("supervisord.conf"), "[supervisord]\n", "[supervisord]\ntoskose_coredump_mark=false\n", 1))
	c.boot()
	c.must("supervisor.startProcess", "db", false)
	c.until("up", "up\n")
	c.must("supervisor.stopProcess", "db")
	c.isEmpty()
}

// TestATERMDuringARestartEndsTheUnit: it comes while the programs are stopped, and the unit does not
// execute itself again.
func TestATERMDuringARestartEndsTheUnit(t *testing.T) {
	t.Parallel()
	c := newContainer(t, plain("slow", `/bin/sh -c 'trap "echo > asked; while [ ! -e go ]; do sleep 0.02; done; exit 0" TERM; echo > up; while :; do sleep 0.02; done'`,
		"autostart=true\nstopwaitsecs=600")).boot()
	c.until("up", "\n")
	if err := c.call(nil, "supervisor.restart"); err != nil {
		t.Fatal(err)
	}
	c.until("asked", "\n")
	time.AfterFunc(100*time.Millisecond, func() { c.write("go", "") })
	c.terminate()
	if log := c.read("unit.log"); strings.Count(log, `msg="toskose-unit started"`) != 1 {
		t.Errorf("the unit restarted:\n%s", log)
	}
}
