package unit

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/toskose/toskose/unit/component"
	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/process"
	"github.com/toskose/toskose/unit/wire"
)

// jumpyClock is the system's, except that its time of day can jump, as that of
// a machine does whose clock is set. No namespace has such a clock of its own.
type jumpyClock struct{ seconds atomic.Int64 }

func (c *jumpyClock) jump(by time.Duration) { c.seconds.Add(int64(by / time.Second)) }

// now returns what time.Now would after the jumps: another time of day, and the
// same monotonic reading. The time package has no way to make such a time; the
// bits from the 31st of the first word of one with both are its seconds.
func (c *jumpyClock) now() time.Time {
	now := time.Now()
	wall := (*uint64)(unsafe.Pointer(&now)) // checked below
	*wall += uint64(c.seconds.Load()) << 30 // of a negative number, too
	return now
}

// check fails where the time package has begun to keep times otherwise.
func (c *jumpyClock) check(t *testing.T) {
	t.Helper()
	before := c.now()
	c.jump(1000 * time.Hour)
	defer c.jump(-1000 * time.Hour)
	after := c.now()
	if day, passed := after.Round(0).Sub(before.Round(0)), after.Sub(before); day < 1000*time.Hour || passed > 500*time.Hour {
		t.Fatalf("a jump of 1000 h moved the time of day by %s and the monotonic time by %s", day, passed)
	}
}

const jumpSections = `
[supervisord]
[program:steady]
command=sleep 1000
startsecs=1
autostart=false
stopsignal=KILL
[program:early]
command=/bin/sh -c 'read x; exit 3'
startsecs=600
startretries=0
autostart=false
[program:late]
command=/bin/sh -c 'read x; exit 3'
startsecs=1
autostart=false
autorestart=false
[program:again]
command=/bin/sh -c 'exit 3'
startsecs=600
startretries=1
autostart=false
[program:deaf]
command=/bin/sh -c 'trap "" TERM; echo up > DIR/up; exec 0<>/proc/self/fd/0; while :; do read x; done'
startsecs=0
autostart=false
stopwaitsecs=1
[program:asks]
command=/bin/sh -c 'echo asks; read x'
startsecs=0
autostart=false
autorestart=false
stdout_logfile=DIR/asks
[program:op]
command=/bin/sh -c 'read x'
startsecs=0
autostart=false
autorestart=false
toskose_component=api
toskose_interface=I
toskose_operation=run
[group:api]
programs=op
[toskose:component:api]
toskose_protocol={"initial":"new","states":[{"name":"new"},{"name":"done"}],"transitions":[{"source":"new","interface":"I","operation":"op","target":"done"}]}
`

// clocked is a unit under a jumpy clock. It reaps all children of the test, so
// that there is one at a time: two tests of this package have one, and one of them is not parallel.
type clocked struct {
	*Unit
	t     *testing.T
	ctx   context.Context
	clock *jumpyClock
	dir   string
}

func newClocked(t *testing.T) *clocked {
	t.Helper()
	c := &clocked{t: t, clock: &jumpyClock{}, dir: t.TempDir()}
	c.clock.check(t)
	file := filepath.Join(c.dir, "unit.conf")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(jumpSections, "DIR", c.dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"PATH": os.Getenv("PATH")}
	read, _, err := config.LoadFrom(c.dir, file, env, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Unit, err = New(Options{Config: read, Env: env, Now: c.clock.now}); err != nil {
		t.Fatal(err)
	}
	var cancel context.CancelFunc
	c.ctx, cancel = context.WithTimeout(t.Context(), 2*time.Minute)
	ended := make(chan error, 1)
	go func() { ended <- c.Run(context.Background()) }()
	t.Cleanup(func() {
		cancel()
		_ = c.Shutdown()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	<-c.allServed
	return c
}

// in waits until a program is in one of some states. One that it leaves by
// itself needs the next one beside it: who waits may look too late.
func (c *clocked) in(name string, states ...wire.ProcessState) wire.ProcessInfo {
	c.t.Helper()
	p, err := c.names.single(name)
	if err != nil {
		c.t.Fatal(err)
	}
	if s, err := p.Await(c.ctx, func(s process.Status) bool { return slices.Contains(states, s.State) }); err != nil {
		c.t.Fatalf("%s is %s, not %s: %v", name, s.State, states, err)
	}
	info, err := c.ProcessInfo(c.ctx, name)
	if err != nil {
		c.t.Fatal(err)
	}
	return info
}

func (c *clocked) start(name string) {
	c.t.Helper()
	if _, err := c.StartProcess(c.ctx, name, false); err != nil {
		c.t.Fatal(err)
	}
}

// release lets a program that reads a line go on.
func (c *clocked) release(name string) {
	c.t.Helper()
	if err := c.SendProcessStdin(c.ctx, name, "\n"); err != nil {
		c.t.Fatal(err)
	}
}

func (c *clocked) runsFor(name string) {
	c.t.Helper()
	if d := c.in(name, wire.Running).Description; !regexp.MustCompile(`^pid \d+, uptime 0:0\d:\d\d$`).MatchString(d) {
		c.t.Errorf("%s: %s", name, d)
	}
}

const decade = 10 * 365 * 24 * time.Hour

func TestAJumpOfTheTimeOfDayChangesNothing(t *testing.T) {
	t.Parallel()
	c := newClocked(t)

	c.start("steady")
	c.start("early")
	c.clock.jump(decade)
	c.runsFor("steady")
	c.release("early")
	if info := c.in("early", wire.Fatal); !strings.HasPrefix(info.SpawnErr, "Exited too quickly") {
		t.Errorf("a decade later early: %+v", info)
	}

	c.start("late")
	c.in("late", wire.Running)
	c.clock.jump(-2 * decade)
	c.release("late")
	if info := c.in("late", wire.Exited); info.ExitStatus != 3 || info.SpawnErr != "Bad exit code 3" {
		t.Errorf("two decades earlier late: %+v", info)
	}
	c.runsFor("steady")

	c.start("again")
	c.in("again", wire.Backoff, wire.Fatal)
	c.clock.jump(-decade)
	c.in("again", wire.Fatal)

	c.stopsDuring(decade)
	c.executesDuring(-decade)
}

// stopsDuring stops a program that ignores TERM while the clock jumps.
func (c *clocked) stopsDuring(jump time.Duration) {
	c.t.Helper()
	c.start("deaf")
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for up := ""; up == ""; <-tick.C {
		data, _ := os.ReadFile(filepath.Join(c.dir, "up"))
		up = string(data)
		if c.ctx.Err() != nil {
			c.t.Fatal("deaf does not begin")
		}
	}
	stopped := make(chan error, 1)
	go func() {
		_, err := c.StopProcess(c.ctx, "deaf", true)
		stopped <- err
	}()
	c.in("deaf", wire.Stopping, wire.Stopped)
	c.clock.jump(jump)
	if err := <-stopped; err != nil {
		c.t.Error(err)
	}
	if info := c.in("deaf", wire.Stopped); info.ExitStatus != -1 {
		c.t.Errorf("deaf: %+v", info)
	}
}

// executesDuring executes an operation while the clock jumps.
func (c *clocked) executesDuring(jump time.Duration) {
	c.t.Helper()
	begun, _, err := c.Execute(c.ctx, wire.ExecuteRequest{ID: "once", Component: "api", Operation: "I.op", Timeout: 600})
	if err != nil {
		c.t.Fatal(err)
	}
	c.in("api:op", wire.Running)
	c.clock.jump(jump)
	c.release("api:op")
	ended, err := c.Execution(c.ctx, "once", component.UntilDone)
	if err != nil || ended.Outcome != wire.OutcomeSucceeded || ended.To != "done" || ended.Seq <= begun.Seq {
		c.t.Errorf("the execution, begun in entry %d: %+v, %v", begun.Seq, ended, err)
	}
	if again, begun, err := c.Execute(c.ctx, wire.ExecuteRequest{ID: "once", Component: "api", Operation: "I.op"}); err != nil || begun || again.Seq != ended.Seq {
		c.t.Errorf("the same id again: %+v, %v", again, fmt.Sprint(err))
	}
}
