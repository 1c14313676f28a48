package main_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toskose/toskose/unit/wire"
)

// A service writes what becomes of it to the file order. It says that it is up when
// the file NAME.go is there, and ends with 1 at once if NAME.broken is.
const serviceScript = `echo "+$1" >> order
trap 'echo "-$1" >> order; exit 0' TERM
! [ -e "$1.broken" ] || exit 1
while ! [ -e "$1.go" ]; do sleep 0.02; done
echo up
while :; do sleep 0.02; done
`

func service(name, keys string) string {
	return "[program:" + name + "]\ncommand=/bin/sh DIR/service.sh " + name +
		"\ndirectory=DIR\nstartsecs=0\nstartretries=0\nstopwaitsecs=600\ntoskose_ready_log=^up$\n" + keys + "\n"
}

// newOrdered is a container of services; those that are named are up at once.
func newOrdered(t *testing.T, sections string, up ...string) *container {
	t.Helper()
	c := newContainer(t, sections)
	c.write("service.sh", serviceScript)
	for _, name := range up {
		c.write(name+".go", "")
	}
	return c
}

// untilDescribed waits until a process is described by a text.
func (c *container) untilDescribed(name, want string) {
	c.t.Helper()
	c.eventually(name+" is described by "+want, func() bool { return c.info(name).Description == want })
}

// happened are the lines of the file order.
func (c *container) happened() []string { return strings.Fields(c.read("order")) }

// before checks that lines of the file order are there, in this order.
func (c *container) before(lines ...string) {
	c.t.Helper()
	last, all := -1, c.happened()
	for _, line := range lines {
		at := slices.Index(all, line)
		if at <= last {
			c.t.Errorf("%q is not in its place among %q", line, all)
		}
		last = at
	}
}

const migrate = `[program:migrate]
command=/bin/sh -c 'echo +migrate >> order; while ! [ -s migrated ]; do sleep 0.02; done; exit $(cat migrated)'
directory=DIR
autorestart=false
startsecs=0
toskose_requires=db
`

func TestProgramsStartAfterOthersAreReadyAndStopBeforeThem(t *testing.T) {
	t.Parallel()
	c := newOrdered(t, service("web", "priority=1\ntoskose_requires=db\ntoskose_after=migrate,workers")+migrate+
		service("db", "priority=5")+service("first", "priority=2")+
		service("one", "")+service("two", "")+"[group:workers]\nprograms=one,two\n", "web", "first", "one", "two").boot()
	c.until("order", "+db")
	c.eventually("db has a process", func() bool { return c.info("db").PID > 0 }) // which may say so before its start is noted
	if first, db := c.info("first").PID, c.info("db").PID; first >= db {
		t.Errorf("what has the lower priority is %d, and so started after %d", first, db)
	}
	c.untilDescribed("web", "waits for db")
	c.untilDescribed("migrate", "waits for db")
	if info := c.info("web"); info.State != wire.Stopped {
		t.Errorf("what waits is %s", info.StateName)
	}
	c.write("db.go", "")
	c.until("order", "+migrate")
	c.untilDescribed("web", "waits for migrate")
	c.write("migrated", "0")
	c.untilState("web", wire.Running)
	c.before("+db", "+migrate", "+web")
	c.before("+two", "+web")
	c.terminate()
	c.before("-web", "-db")
	c.before("-web", "-one")
}

func TestWhatIsRequiredIsStartedAndStoppedWithIt(t *testing.T) {
	t.Parallel()
	c := newOrdered(t, service("web", "autostart=false\ntoskose_requires=db")+service("db", "autostart=false")+
		service("side", "autostart=false\ntoskose_after=db"), "web", "db", "side").boot()
	call := func(method string, args ...any) {
		t.Helper()
		if err := c.call(nil, method, args...); err != nil {
			t.Fatalf("%s %v: %v", method, args, err)
		}
	}
	call("supervisor.startProcess", "side") // after orders only what is started together
	call("supervisor.startProcess", "web")
	c.before("+side", "+db", "+web")
	call("supervisor.stopProcess", "db")
	c.before("-web", "-db")
	if c.info("web").State != wire.Stopped || c.info("side").State != wire.Running {
		t.Errorf("web is %s and side %s", c.info("web").StateName, c.info("side").StateName)
	}
	c.write("order", "")
	call("supervisor.startProcess", "db")
	c.untilState("web", wire.Running)
	c.before("+db", "+web")

	call("supervisor.stopAllProcesses")
	c.before("-web", "-db")
	c.before("-side", "-db")
	c.write("order", "")
	call("supervisor.startProcess", "db") // and web, which was stopped for itself, stays so
	call("supervisor.startAllProcesses", false)
	c.untilState("web", wire.Running)
	c.untilState("side", wire.Running)
	c.before("+db", "+web")
}

func TestWhatFailsIsSaidToThoseThatWaitForIt(t *testing.T) {
	t.Parallel()
	c := newOrdered(t, service("web", "toskose_requires=db")+service("db", "")+service("side", "toskose_after=db"), "web", "db", "side")
	c.write("db.broken", "")
	c.boot()
	const why = "waits for db, which is FATAL"
	c.untilDescribed("web", why)
	c.untilDescribed("side", why)
	c.until("unit.log", why)
	err := c.call(nil, "supervisor.startProcess", "web")
	if err == nil || !strings.Contains(err.Error(), "SPAWN_ERROR") {
		t.Errorf("starting what requires a program that fails: %v", err)
	}
	if err := c.call(nil, "supervisor.stopProcess", "side"); err != nil { // it waits no longer
		t.Error(err)
	}
	c.untilDescribed("side", "Not started")
	if err := os.Remove(filepath.Join(c.dir, "db.broken")); err != nil {
		t.Fatal(err)
	}
	if err := c.call(nil, "supervisor.startProcess", "db"); err != nil {
		t.Fatal(err)
	}
	c.untilState("web", wire.Running)
	if slices.Contains(c.happened(), "+side") {
		t.Error("what was told to stop waiting is started")
	}
	c.terminate()
	c.before("-web", "-db")
}

func TestAOneShotProgramThatFailsHoldsBackWhatComesAfterIt(t *testing.T) {
	t.Parallel()
	c := newOrdered(t, service("web", "toskose_after=migrate")+migrate+service("db", ""), "web", "db").boot()
	c.untilDescribed("web", "waits for migrate")
	c.write("migrated", "3")
	c.untilDescribed("web", "waits for migrate, which is EXITED")
	c.write("migrated", "0")
	if err := c.call(nil, "supervisor.startProcess", "migrate"); err != nil {
		t.Fatal(err)
	}
	c.untilState("web", wire.Running)
}

func TestAnUpdateKeepsTheOrder(t *testing.T) {
	t.Parallel()
	c := newOrdered(t, service("db", ""), "app", "db", "cache").boot()
	c.untilState("db", wire.Running)
	c.rewrite(service("db", "") + service("app", "toskose_after=cache\ntoskose_requires=db") + service("cache", ""))
	for _, step := range [][]any{
		{"supervisor.reloadConfig"}, {"supervisor.addProcessGroup", "app"},
	} {
		if err := c.call(nil, step[0].(string), step[1:]...); err != nil {
			t.Fatal(err)
		}
	}
	c.untilDescribed("app", "waits for cache, which is not in use")
	if err := c.call(nil, "supervisor.addProcessGroup", "cache"); err != nil {
		t.Fatal(err)
	}
	c.untilState("app", wire.Running)
	c.before("+db", "+cache", "+app")
}
