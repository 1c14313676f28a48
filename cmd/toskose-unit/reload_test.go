package main_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toskose/toskose/unit/wire"
)

// ctl runs the real supervisorctl, and gives what it says.
func (c *container) ctl(command string) string {
	c.t.Helper()
	path, err := exec.LookPath("supervisorctl")
	if err != nil {
		c.t.Skip("supervisorctl is not installed (Debian package supervisor)")
	}
	c.write("ctl.conf", "[supervisorctl]\nserverurl=http://"+c.address()+"\nusername=admin\npassword=secret\n")
	args := append([]string{"-c", filepath.Join(c.dir, "ctl.conf")}, strings.Fields(command)...)
	out, _ := exec.Command(path, args...).CombinedOutput()
	return string(out)
}

func (c *container) says(command, want string) {
	c.t.Helper()
	if got := c.ctl(command); got != want {
		c.t.Errorf("%s says\n%swant\n%s", command, got, want)
	}
}

// rewrite puts other sections in the place of those that the container has.
func (c *container) rewrite(sections string) {
	c.t.Helper()
	head, _, _ := strings.Cut(c.read("supervisord.conf"), "toskose_auth=required\n")
	c.write("supervisord.conf", head+"toskose_auth=required\n"+strings.ReplaceAll(sections, "DIR", c.dir))
}

// sleeping is a program that runs until it is stopped. Options are more keys,
// separated by `|`.
func sleeping(name, options string) string {
	return "[program:" + name + "]\ncommand=sleep 1000\nstartsecs=0\n" + strings.ReplaceAll(options, "|", "\n") + "\n"
}

// running waits until a process runs, and gives its pid.
func (c *container) running(name string) int {
	c.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); <-tick.C {
		if info := c.info(name); info.State == wire.Running {
			return info.PID
		}
	}
	c.t.Fatalf("%s does not run: %+v", name, c.info(name))
	return 0
}

func TestSupervisorctlUpdatesGroups(t *testing.T) {
	t.Parallel()
	c := newContainer(t, sleeping("same", "")+sleeping("other", "")+sleeping("old", "")).boot()
	same, other, old := c.running("same"), c.running("other"), c.running("old")
	c.says("reread", "No config updates to processes\n")
	c.rewrite(sleeping("same", "") + sleeping("other", "umask=077") + sleeping("new", ""))
	c.says("reread", "new: available\nold: disappeared\nother: changed\n")
	c.says("avail", "new                              avail     auto      999:999\n"+
		"other                            in use    auto      999:999\n"+
		"same                             in use    auto      999:999\n")
	if c.info("old").PID != old || c.info("other").PID != other {
		t.Error("reread changed something")
	}
	fault(t, c.call(nil, "supervisor.addProcessGroup", "other"), wire.AlreadyAdded)
	fault(t, c.call(nil, "supervisor.removeProcessGroup", "other"), wire.StillRunning)
	c.says("update", "old: stopped\nold: removed process group\nother: stopped\nother: updated process group\nnew: added process group\n")
	if got := c.running("same"); got != same {
		t.Errorf("same was %d and is %d", same, got)
	}
	if got := c.running("other"); got == other {
		t.Error("other was not restarted")
	}
	c.running("new")
	fault(t, c.call(nil, "supervisor.getProcessInfo", "old"), wire.BadName)
	c.says("update", "")
	c.says("add new", "ERROR: process group already active\n")
	c.says("add nothing", "ERROR: no such process/group: nothing\n")
	c.says("remove nothing", "ERROR: no such process/group: nothing\n")
	c.says("remove new", "ERROR: process/group still running: new\n")
	c.says("stop new", "new: stopped\n")
	c.says("remove new", "new: removed process group\n")
	c.says("reread", "new: available\n")
	c.says("add new", "new: added process group\n")
	c.running("new")
	c.terminate()
}

func TestAnUpdateKeepsTheProcessesThatDidNotChange(t *testing.T) {
	t.Parallel()
	const group = "[group:g]\nprograms=a,b,c\n"
	many := func(count string) string {
		return sleeping("w", "process_name=%(process_num)s|numprocs="+count)
	}
	c := newContainer(t, sleeping("a", "")+sleeping("b", "")+sleeping("c", "")+group+many("2")).boot()
	pids := map[string]int{}
	for _, name := range []string{"g:a", "g:b", "g:c", "w:0", "w:1"} {
		pids[name] = c.running(name)
	}
	kept := func(names ...string) {
		t.Helper()
		for _, name := range names {
			if got := c.info(name).PID; got != pids[name] {
				t.Errorf("%s was %d and is %d", name, pids[name], got)
			}
		}
	}
	c.rewrite(sleeping("a", "") + sleeping("b", "umask=077") + sleeping("d", "") + "[group:g]\nprograms=a,b,d\n" + many("3"))
	c.says("reread", "g: available\nw: available\n")
	kept("g:a", "g:b", "g:c", "w:0", "w:1")
	c.says("avail", "w:0                              in use    auto      999:999\n"+
		"w:1                              in use    auto      999:999\n"+
		"w:2                              avail     auto      999:999\n"+
		"g:a                              in use    auto      999:999\n"+
		"g:b                              in use    auto      999:999\n"+
		"g:d                              avail     auto      999:999\n")
	c.says("update w", "w: added process group\n")
	kept("g:a", "g:b", "g:c", "w:0", "w:1")
	c.running("w:2")
	c.says("update", "g: added process group\n")
	kept("g:a", "w:0", "w:1")
	fault(t, c.call(nil, "supervisor.getProcessInfo", "g:c"), wire.BadName)
	if got := c.running("g:b"); got == pids["g:b"] {
		t.Error("g:b was not restarted")
	}
	c.running("g:d")
	c.rewrite(sleeping("a", "") + sleeping("b", "umask=077") + sleeping("d", "") + "[group:g]\nprograms=a,b,d\n" + many("1"))
	c.says("update", "w: added process group\n")
	kept("g:a", "w:0")
	fault(t, c.call(nil, "supervisor.getProcessInfo", "w:1"), wire.BadName)
	if s := c.snapshot(); len(s.Unclaimed) != 4 {
		t.Errorf("four sleepers are left of %+v", s.Unclaimed)
	}
}

func TestWhatTakesNoRestartIsAppliedByTheReload(t *testing.T) {
	t.Parallel()
	// It never ends by TERM, and has no grace to speak of: only INT stops it in time.
	// It does not wait in read: a signal just before that is heard after the next line.
	stubborn := `[program:p]
command=/bin/sh -c 'trap "" TERM; trap "echo INT; exit 0" INT; echo up; ` + untilGo + `; echo 0123456789; while :; do sleep 0.02; done'
directory=DIR
startsecs=0
stdout_logfile=DIR/p.log
`
	c := newContainer(t, stubborn+sleeping("q", "")).boot()
	p, q := c.running("p"), c.running("q")
	c.until("p.log", "up")
	c.rewrite(stubborn + "stopsignal=INT\nstopwaitsecs=600\npriority=3\nstdout_logfile_maxbytes=10\nstdout_logfile_backups=1\n" +
		sleeping("q", "priority=5|autorestart=false|autostart=false"))
	c.says("reread", "No config updates to processes\n")
	c.says("update", "")
	c.says("avail", "p                                in use    auto      3:3\nq                                in use    manual    5:5\n")
	if c.info("p").PID != p || c.info("q").PID != q {
		t.Error("a program was restarted")
	}
	c.write("go", "")
	c.until("p.log.1", "0123456789") // it rotates at ten bytes
	if err := c.call(nil, "supervisor.stopProcess", "p"); err != nil {
		t.Fatal(err)
	}
	c.until("p.log", "INT")
	if err := c.call(nil, "supervisor.signalProcess", "q", "KILL"); err != nil {
		t.Fatal(err)
	}
	c.until("unit.log", "component=q operation=q state=EXITED") // and not STARTING again
}

func TestAConfigurationWithProblemsChangesNothing(t *testing.T) {
	t.Parallel()
	c := newContainer(t, sleeping("p", "")).boot()
	pid := c.running("p")
	c.rewrite(sleeping("p", "stopwaitsecs=never|umask=9"))
	err := c.call(nil, "supervisor.reloadConfig")
	fault(t, err, wire.CantReread)
	for _, key := range []string{"supervisord.conf:", "stopwaitsecs", "umask"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("the fault %v does not name %s", err, key)
		}
	}
	if got := c.ctl("reread"); !strings.HasPrefix(got, "ERROR: CANT_REREAD: ") {
		t.Errorf("reread says %q", got)
	}
	c.says("avail", "p                                in use    auto      999:999\n")
	if c.info("p").PID != pid {
		t.Error("the program was restarted")
	}
}

func TestAReloadKeepsTheStatesOfComponents(t *testing.T) {
	t.Parallel()
	scripts := map[string]string{"create": "echo 1 > made", "start": "exec sleep 1000", "stop": "true"}
	api := component("api", scripts, "")
	c := newContainer(t, api).boot()
	outcome(t, c.run("api", "create"), wire.OutcomeSucceeded)
	outcome(t, c.run("api", "start"), wire.OutcomeSucceeded)
	before := c.wants("api", "running")

	// A new operation and another command: what start left runs on.
	scripts["create"], scripts["configure"] = "echo 2 > made", "echo 3 > made"
	c.rewrite(component("api", scripts, "") + component("gui", map[string]string{"create": "true"}, ""))
	c.says("update", "api: added process group\ngui: added process group\n")
	after := c.wants("api", "running")
	if len(after.Processes) != 1 || after.Processes[0].PID != before.Processes[0].PID {
		t.Errorf("the processes were %+v and are %+v", before.Processes, after.Processes)
	}
	c.wants("gui", "deleted")
	outcome(t, c.run("gui", "create"), wire.OutcomeSucceeded)

	// Every process changes: the group is stopped, and with it the component.
	c.rewrite(component("api", scripts, "umask=077"))
	c.says("update", "gui: stopped\ngui: removed process group\napi: stopped\napi: updated process group\n")
	c.wants("api", "configured")
	_, err := c.execute("gui", "delete", nil)
	fault(t, err, wire.BadName)
	outcome(t, c.run("api", "start"), wire.OutcomeSucceeded)

	// What comes back is where it was.
	c.rewrite(component("api", scripts, "umask=077") + component("gui", map[string]string{"create": "true"}, ""))
	c.says("update", "gui: added process group\n")
	c.wants("gui", "created")
	c.wants("api", "running")
}

func TestAProtocolThatDoesNotKnowTheStateIsRefused(t *testing.T) {
	t.Parallel()
	api := component("api", map[string]string{"create": "true", "delete": "true"}, "")
	fresh := component("gui", map[string]string{"create": "true"}, "")
	c := newContainer(t, api+fresh).boot()
	outcome(t, c.run("api", "create"), wire.OutcomeSucceeded)
	renamed := func(sections string) string { return strings.ReplaceAll(sections, "created", "built") }
	initial := func(sections string) string { return strings.ReplaceAll(sections, "deleted", "absent") }
	c.rewrite(renamed(api) + fresh)
	err := c.call(nil, "supervisor.reloadConfig")
	fault(t, err, wire.CantReread)
	if err == nil || !strings.Contains(err.Error(), `component "api" is in the state "created"`) {
		t.Errorf("the fault is %v", err)
	}
	outcome(t, c.run("api", "delete"), wire.OutcomeSucceeded)
	c.rewrite(renamed(api) + initial(fresh))
	c.says("update", "api: added process group\ngui: added process group\n")
	outcome(t, c.run("api", "create"), wire.OutcomeSucceeded)
	c.wants("api", "built")
	c.wants("gui", "absent") // nothing was ever done to it
}

func TestWhatExecutesIsNotExchanged(t *testing.T) {
	t.Parallel()
	scripts := map[string]string{"create": "echo up > up; while [ ! -e go ]; do sleep 0.01; done", "delete": "true"}
	c := newContainer(t, component("api", scripts, "")).boot()
	x, err := c.execute("api", "create", nil)
	if err != nil {
		t.Fatal(err)
	}
	c.until("up", "up")
	scripts["delete"] = "echo deleted > deleted"
	c.rewrite(component("api", scripts, ""))
	c.says("reread", "api: available\n")
	err = c.call(nil, "supervisor.addProcessGroup", "api")
	fault(t, err, wire.StillRunning)
	if err == nil || !strings.Contains(err.Error(), "Standard.create is executing") {
		t.Errorf("the fault is %v", err)
	}
	c.write("go", "")
	outcome(t, c.end(x.ID), wire.OutcomeSucceeded)
	c.says("add api", "api: added process group\n")
	outcome(t, c.run("api", "delete"), wire.OutcomeSucceeded)
	if c.read("deleted") != "deleted\n" {
		t.Error("the old command was executed")
	}
}

func TestANameKeepsItsMarkOverReloads(t *testing.T) {
	t.Parallel()
	program := func(name string) string {
		return strings.ReplaceAll("[program:NAME]\ncommand=/bin/sh -c 'setsid sleep 1000 & echo up >> DIR/NAME; exec cat'\n"+
			"startsecs=0\nautorestart=false\nstdout_logfile=NONE\nstderr_logfile=NONE\n", "NAME", name)
	}
	c := newContainer(t, program("p")).boot()
	sleepers := func() string {
		t.Helper()
		var owners []string
		for _, process := range c.snapshot().Unclaimed {
			if strings.HasPrefix(process.Command, "sleep") {
				owners = append(owners, process.Operation)
			}
		}
		slices.Sort(owners)
		return strings.Join(owners, " ")
	}
	c.until("p", "up")
	if err := c.call(nil, "supervisor.signalProcess", "p", "KILL"); err != nil {
		t.Fatal(err)
	}
	c.until("unit.log", "component=p operation=p state=EXITED")
	c.rewrite(program("q"))
	c.says("update", "p: stopped\np: removed process group\nq: added process group\n")
	c.until("q", "up")
	// A sleeper is one only a moment after the shell that forks it says up.
	c.eventually("that of p lives on, and is none of q", func() bool { return sleepers() == "p:p q:q" })
	c.rewrite(program("p") + program("q"))
	c.says("update", "p: added process group\n")
	c.until("p", "up\nup")
	c.eventually("p has another one", func() bool { return sleepers() == "p:p p:p q:q" })
	c.says("stop p", "p: stopped\n")
	if got := sleepers(); got != "q:q" {
		t.Errorf("the sleepers are of %q; a stop of p takes what it left before", got)
	}
}

// TestEverythingAtOnce reloads, regroups, starts, stops and executes from many
// sides. Every answer is a fault that may be, nothing is lost, nothing races.
func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	first := sleeping("p", "") + sleeping("w", "process_name=%(process_num)s|numprocs=2") +
		component("api", map[string]string{"create": "true", "delete": "true"}, "")
	second := sleeping("p", "umask=077") + sleeping("w", "process_name=%(process_num)s|numprocs=3|priority=5") +
		component("api", map[string]string{"create": "true", "delete": "exit 0", "start": "exec sleep 1000"}, "")
	c := newContainer(t, first).boot()
	c.running("p")
	mayBe := []wire.FaultCode{
		wire.BadName, wire.AlreadyAdded, wire.StillRunning, wire.AlreadyStarted, wire.Failed,
		wire.NotRunning, wire.AbnormalTermination, wire.SpawnError,
	}
	var sides sync.WaitGroup
	side := func(method string, args ...any) {
		sides.Go(func() {
			for range 15 {
				err := c.call(nil, method, args...)
				if err != nil && !slices.ContainsFunc(mayBe, func(code wire.FaultCode) bool { return strings.Contains(err.Error(), code.String()) }) {
					t.Errorf("%s %v answers %v", method, args, err)
				}
			}
		})
	}
	sides.Go(func() {
		for i := range 15 {
			c.rewrite([]string{first, second}[i%2])
			if err := c.call(nil, "supervisor.reloadConfig"); err != nil {
				t.Errorf("reloadConfig answers %v", err)
			}
		}
	})
	for _, group := range []string{"p", "w", "api"} {
		side("supervisor.addProcessGroup", group)
		side("supervisor.stopProcessGroup", group)
		side("supervisor.removeProcessGroup", group)
	}
	side("supervisor.startProcess", "p")
	side("supervisor.getAllConfigInfo")
	sides.Go(func() {
		for range 15 {
			c.snapshot()
		}
	})
	for _, operation := range []string{"create", "delete", "start"} {
		side("supervisor.startProcess", "api:"+operation) // by an execution
	}
	sides.Wait()

	c.rewrite(second)
	c.ctl("update")
	for _, name := range []string{"p", "w:0", "w:1", "w:2"} {
		_ = c.call(nil, "supervisor.startProcess", name)
		c.running(name)
	}
	c.component("api")
	c.terminate()
}

func TestListenersAreReloaded(t *testing.T) {
	t.Parallel()
	const says = `[eventlistener:l]
command=/bin/sh -c 'echo READY; while read header; do echo "$header" >> DIR/heard; dd bs=1 count=$(echo "$header" | sed "s/.*len://") 2>/dev/null >/dev/null; printf "RESULT 2\nOKREADY\n"; done'
events=PROCESS_GROUP`
	c := newContainer(t, sleeping("old", "")).boot()
	c.running("old")
	c.rewrite(sleeping("old", "") + says + "_ADDED\n")
	c.says("update", "l: added process group\n")
	c.running("l")
	c.rewrite(sleeping("old", "") + sleeping("new", "") + says + "_ADDED\n")
	c.says("update", "new: added process group\n")
	c.until("heard", "eventname:PROCESS_GROUP_ADDED")
	c.rewrite(sleeping("new", "") + says + "_REMOVED\n")
	c.says("reread", "l: changed\nold: disappeared\n")
	c.says("update l", "l: stopped\nl: updated process group\n")
	c.running("l")
	c.says("update", "old: stopped\nold: removed process group\n")
	c.until("heard", "eventname:PROCESS_GROUP_REMOVED")
	c.rewrite(sleeping("new", ""))
	c.says("update", "l: stopped\nl: removed process group\n")
	c.terminate()
}
