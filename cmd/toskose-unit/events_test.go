package main_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toskose/toskose/unit/wire"
)

// earEnv makes this test's binary an event listener that writes to a folder.
const earEnv = "TOSKOSE_TEST_EAR"

// becomeListener appends every event that it is sent to the file heard, and
// answers OK, except that it rejects the first with "reject me" in it, and ends
// without an answer at the first with "end here".
func becomeListener(dir string) int {
	once := func(name string) bool {
		file, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return false
		}
		file.Close()
		return true
	}
	heard, err := os.OpenFile(filepath.Join(dir, "heard"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for in := bufio.NewReader(os.Stdin); ; {
		fmt.Print("READY\n")
		header, err := in.ReadString('\n')
		if err != nil {
			return 0
		}
		length, _ := strconv.Atoi(strings.TrimSpace(header[strings.LastIndexByte(header, ':')+1:]))
		payload := make([]byte, length)
		if _, err = io.ReadFull(in, payload); err == nil {
			_, err = heard.WriteString(header + string(payload))
		}
		switch {
		case err != nil:
			fmt.Fprintln(os.Stderr, err)
			return 1
		case bytes.Contains(payload, []byte("reject me")) && once("rejected"):
			fmt.Print("RESULT 4\nFAIL")
		case bytes.Contains(payload, []byte("end here")) && once("ended"):
			return 3
		default:
			fmt.Print("RESULT 2\nOK")
		}
	}
}

const earSection = `[eventlistener:ears]
command=%s
environment=%s="DIR"
events=%s
buffer_size=100
stdout_logfile=DIR/ears.log
startsecs=0
startretries=0
autorestart=true
`

// heardEvent is an event as the listener got it.
type heardEvent struct {
	header, name, payload string
}

// newEars is a container whose listener subscribed to events.
func newEars(t *testing.T, events, sections string) *container {
	t.Helper()
	return newContainer(t, fmt.Sprintf(earSection, os.Args[0], earEnv, events)+sections)
}

// heard returns what the listener has been sent completely until now.
func (c *container) heard() []heardEvent {
	c.t.Helper()
	var all []heardEvent
	for rest := c.read("heard"); rest != ""; {
		header, after, ok := strings.Cut(rest, "\n")
		fields := regexp.MustCompile(`^ver:3\.0 server:supervisor serial:\d+ pool:ears poolserial:\d+ eventname:(\w+) len:(\d+)$`).FindStringSubmatch(header)
		if fields == nil && ok {
			c.t.Fatalf("the listener got the header %q", header)
		}
		if fields == nil {
			break
		}
		length, _ := strconv.Atoi(fields[2])
		if len(after) < length {
			break
		}
		all = append(all, heardEvent{header: header, name: fields[1], payload: after[:length]})
		rest = after[length:]
	}
	return all
}

// waitHeard waits until the listener has been sent an event with a text in it.
func (c *container) waitHeard(text string) []heardEvent {
	c.t.Helper()
	c.until("heard", text)
	return c.heard()
}

// waitRunning waits until the listener has been told as many times that a process
// is running.
func (c *container) waitRunning(process string, times int) {
	c.t.Helper()
	c.eventually(fmt.Sprintf("%s is running for the %dth time", process, times), func() bool {
		told := 0
		for _, e := range c.heard() {
			if e.name == "PROCESS_STATE_RUNNING" && strings.HasPrefix(e.payload, "processname:"+process+" ") {
				told++
			}
		}
		return told == times
	})
}

// tell makes a REMOTE_COMMUNICATION event.
func (c *container) tell(kind, data string) {
	c.t.Helper()
	if err := c.call(nil, "supervisor.sendRemoteCommEvent", kind, data); err != nil {
		c.t.Fatal(err)
	}
}

// remote returns the REMOTE_COMMUNICATION events among some, with their numbers in
// the pool.
func remote(events []heardEvent) string {
	var b strings.Builder
	number := regexp.MustCompile(`poolserial:(\d+)`)
	for _, e := range events {
		if e.name == "REMOTE_COMMUNICATION" {
			fmt.Fprintf(&b, "%s %q\n", number.FindStringSubmatch(e.header)[1], e.payload)
		}
	}
	return b.String()
}

func (c *container) must(method string, args ...any) {
	c.t.Helper()
	if err := c.call(nil, method, args...); err != nil {
		c.t.Fatalf("%s %v: %v", method, args, err)
	}
}

const sleeper = "[program:long]\ncommand=sleep 1000\nstartsecs=0\nautostart=false\n"

func TestAListenerIsToldOfAProcessInOrder(t *testing.T) {
	t.Parallel()
	c := newEars(t, "PROCESS_STATE,REMOTE_COMMUNICATION", sleeper).boot()
	c.must("supervisor.startProcess", "long")
	pid := c.info("long").PID
	c.must("supervisor.stopProcess", "long")
	c.tell("the end", "")
	var got []string
	for _, e := range c.waitHeard("the end") {
		if strings.Contains(e.payload, "processname:long") {
			got = append(got, e.name+" "+e.payload)
		}
	}
	want := fmt.Sprintf(`PROCESS_STATE_STARTING processname:long groupname:long from_state:STOPPED tries:0
PROCESS_STATE_RUNNING processname:long groupname:long from_state:STARTING pid:%[1]d
PROCESS_STATE_STOPPING processname:long groupname:long from_state:RUNNING pid:%[1]d
PROCESS_STATE_STOPPED processname:long groupname:long from_state:STOPPING pid:%[1]d`, pid)
	if got := strings.Join(got, "\n"); got != want {
		t.Errorf("it was told\n%s\nwant\n%s", got, want)
	}
	if ears := c.info("ears"); ears.State != wire.Running || ears.Group != "ears" {
		t.Errorf("a listener is a process as any: %+v", ears)
	}
	var all []wire.ProcessInfo
	if err := c.call(&all, "supervisor.getAllProcessInfo"); err != nil || len(all) != 2 || all[0].Name != "ears" {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestARejectedEventIsDeliveredAgain(t *testing.T) {
	t.Parallel()
	c := newEars(t, "REMOTE_COMMUNICATION", "").boot()
	c.tell("first", "reject me")
	c.tell("second", "dö\n")
	want := "0 \"type:first\\nreject me\"\n0 \"type:first\\nreject me\"\n1 \"type:second\\ndö\\n\"\n"
	if got := remote(c.waitHeard("type:second")); got != want {
		t.Errorf("it was told\n%swant\n%s", got, want)
	}
}

func TestADeadListenerLosesNothingThatWasBuffered(t *testing.T) {
	t.Parallel()
	c := newEars(t, "REMOTE_COMMUNICATION", "").boot()
	c.tell("a", "end here")
	c.tell("b", "")
	c.until("ears.log", "RESULT 2\nOKREADY\nRESULT 2\nOKREADY\n")
	c.must("supervisor.stopProcess", "ears")
	for _, kind := range []string{"c", "d", "e"} {
		c.tell(kind, "")
	}
	c.must("supervisor.startProcess", "ears")
	want := "0 \"type:a\\nend here\"\n0 \"type:a\\nend here\"\n1 \"type:b\\n\"\n2 \"type:c\\n\"\n3 \"type:d\\n\"\n4 \"type:e\\n\"\n"
	if got := remote(c.waitHeard("type:e")); got != want {
		t.Errorf("it was told\n%swant\n%s", got, want)
	}
}

func TestAListenerThatNeverReadsSlowsNobody(t *testing.T) {
	t.Parallel()
	c := newContainer(t, `[eventlistener:stuck]
command=/bin/sh -c 'echo READY; read header; echo up > DIR/busy; exec sleep 1000'
events=PROCESS_LOG
buffer_size=2
startsecs=0
stopwaitsecs=600
[program:chatty]
command=/bin/sh -c 'echo first; read go; head -c 3000000 /dev/zero; exit 5'
startsecs=0
autostart=false
autorestart=false
stdout_logfile=DIR/chatty.log
stdout_logfile_maxbytes=0
stdout_events_enabled=true
`).boot()
	c.must("supervisor.startProcess", "chatty")
	c.until("busy", "up") // with the first event, and from now on
	c.must("supervisor.sendProcessStdin", "chatty", "go\n")
	c.until("unit.log", "exit code 5")
	if got := len(c.read("chatty.log")); got != len("first\n")+3000000 {
		t.Errorf("its log has %d bytes", got)
	}
	if log := c.read("unit.log"); strings.Count(log, "event buffer is full") != 1 {
		t.Errorf("that events are lost is not logged once:\n%s", log)
	}
	c.terminate()
}

func TestAListenerIsToldWhatAProcessWritesByteForByte(t *testing.T) {
	t.Parallel()
	c := newEars(t, "PROCESS_LOG", `[program:odd]
command=/bin/sh -c 'printf "d\366\000\n" >&2; printf "the end" >&2; read go; echo unheard; exec sleep 1000'
startsecs=0
autostart=false
stdout_logfile=DIR/odd.log
stderr_events_enabled=true
`).boot()
	c.must("supervisor.startProcess", "odd")
	c.waitHeard("the end")
	c.must("supervisor.sendProcessStdin", "odd", "go\n")
	c.until("odd.log", "unheard")
	var got string
	for _, e := range c.heard() { // one or two, as the unit reads them
		head, data, _ := strings.Cut(e.payload, "\n")
		if want := fmt.Sprintf("processname:odd groupname:odd pid:%d channel:stderr", c.info("odd").PID); head != want || e.name != "PROCESS_LOG_STDERR" {
			t.Errorf("%s %q, want %q", e.name, head, want)
		}
		got += data
	}
	if want := "d\xf6\x00\nthe end"; got != want {
		t.Errorf("it was told of %q, want %q", got, want)
	}
}

func TestAListenerIsToldTheTime(t *testing.T) {
	t.Parallel()
	c := newEars(t, "TICK_5", "").boot()
	tick := c.waitHeard("when:")[0]
	when, err := strconv.Atoi(strings.TrimPrefix(tick.payload, "when:"))
	if err != nil || when%5 != 0 || tick.name != "TICK_5" {
		t.Errorf("%+v, %v", tick, err)
	}
}

func TestAListenerHearsOfTheEnd(t *testing.T) {
	t.Parallel()
	c := newEars(t, "PROCESS_STATE_STOPPED,SUPERVISOR_STATE_CHANGE", sleeper).boot()
	c.waitHeard("SUPERVISOR_STATE_CHANGE_RUNNING")
	c.must("supervisor.startProcess", "long")
	c.terminate()
	var got []string
	for _, e := range c.heard() {
		got = append(got, e.name)
	}
	want := "SUPERVISOR_STATE_CHANGE_RUNNING SUPERVISOR_STATE_CHANGE_STOPPING PROCESS_STATE_STOPPED"
	if got := strings.Join(got, " "); got != want {
		t.Errorf("it was told %q, want %q", got, want)
	}
}

// comparedSections are programs that do nothing unless they are told to, so
// that the order of what happens does not depend on how fast anything is.
const comparedSections = sleeper + `[program:talker]
command=/bin/sh -c 'read a; echo "said $a"; read b; exit 3'
startsecs=0
autostart=false
autorestart=false
stdout_events_enabled=true
[program:again]
command=/bin/sh -c 'read a; exit 0'
startsecs=0
autostart=false
autorestart=true
[program:bad]
command=/bin/sh -c 'exit 1'
autostart=false
startsecs=60
startretries=0
[program:patient]
command=/bin/sh -c 'exit 1'
autostart=false
startsecs=60
startretries=3
`

// bootReal is boot with the real supervisord.
func (c *container) bootReal() {
	c.t.Helper()
	conf := strings.ReplaceAll(c.read("supervisord.conf"), "toskose_auth=required", "password=secret") +
		"[rpcinterface:supervisor]\nsupervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface\n"
	c.write("supervisord.conf", strings.Replace(conf, "nodaemon=true", "nodaemon=true\npidfile="+filepath.Join(c.dir, "pid"), 1))
	c.cmd = exec.Command("supervisord", "-n", "-c", filepath.Join(c.dir, "supervisord.conf"))
	if err := c.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	exited := make(chan struct{})
	c.exited = exited
	go func() {
		_ = c.cmd.Wait()
		close(exited)
	}()
	c.t.Cleanup(func() {
		_ = c.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-exited:
		case <-time.After(patience):
			_ = c.cmd.Process.Kill()
			<-exited
		}
		if c.t.Failed() {
			c.t.Logf("supervisord wrote:\n%s", c.read("unit.log"))
		}
	})
}

// perform makes things happen, each after the listener has heard of the one
// before, and gives what it was told: without lengths and pids, which differ.
// It is late where the server tried patient again before it was stopped.
func (c *container) perform(races bool) (told string, late bool) {
	c.t.Helper()
	// supervisord answers SPAWN_ERROR where a program has ended before it looks, though
	// it was started, as the events that follow show; the unit never does.
	start := func(name string) {
		c.t.Helper()
		if err := c.call(nil, "supervisor.startProcess", name, false); err != nil && (!races || !strings.Contains(err.Error(), "SPAWN_ERROR: "+name)) {
			c.t.Fatal(err)
		}
	}
	c.waitRunning("ears", 1)
	c.must("supervisor.startProcess", "talker")
	c.waitRunning("talker", 1)
	c.must("supervisor.sendProcessStdin", "talker", "hello\n")
	c.waitHeard("said hello")
	c.must("supervisor.sendProcessStdin", "talker", "bye\n")
	c.waitHeard("processname:talker groupname:talker from_state:RUNNING")
	c.must("supervisor.startProcess", "again")
	c.waitRunning("again", 1)
	c.must("supervisor.sendProcessStdin", "again", "bye\n")
	c.waitRunning("again", 2)
	c.must("supervisor.startProcess", "long")
	c.waitRunning("long", 1)
	c.must("supervisor.stopProcess", "again")
	c.must("supervisor.stopProcess", "long")
	start("bad")
	c.waitHeard("processname:bad groupname:bad from_state:BACKOFF") // which is FATAL
	start("patient")
	c.waitHeard("processname:patient groupname:patient from_state:STARTING tries:3")
	// Within the three seconds before it is tried again; then it may be FATAL, too.
	if err := c.call(nil, "supervisor.stopProcess", "patient"); err != nil && !strings.Contains(err.Error(), "NOT_RUNNING") {
		c.t.Fatal(err)
	}
	c.tell("some kind", "two\nlines")
	c.must("supervisor.startProcess", "long")
	c.waitRunning("long", 2)
	c.must("supervisor.shutdown")
	<-c.exited
	var lines strings.Builder
	changing := regexp.MustCompile(`(pid|len):[1-9]\d*`)
	for _, e := range c.heard() {
		if e.name == "PROCESS_STATE_STOPPING" && strings.Contains(e.payload, ":ears ") {
			continue // whether it takes this one is a matter of luck
		}
		if e.name == "PROCESS_STATE_STARTING" && e.payload == "processname:patient groupname:patient from_state:BACKOFF tries:3" {
			late = true
		}
		fmt.Fprintf(&lines, "%s\n\t%s\n", changing.ReplaceAllString(e.header, "$1:N"), changing.ReplaceAllString(e.payload, "$1:N"))
	}
	return lines.String(), late
}

// performed returns what a server told that was not late.
func performed(t *testing.T, races bool, boot func(*container)) string {
	t.Helper()
	const events = "PROCESS_STATE,PROCESS_LOG,PROCESS_GROUP,REMOTE_COMMUNICATION,SUPERVISOR_STATE_CHANGE"
	const tries = 10
	for range tries {
		c := newEars(t, events, comparedSections)
		boot(c)
		if told, late := c.perform(races); !late {
			return told
		}
	}
	t.Fatalf("a stop within three seconds came too late %d times", tries)
	return ""
}

func TestAListenerIsToldWhatSupervisordTells(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("supervisord"); err != nil {
		t.Skip("supervisord is not installed (Debian package supervisor)")
	}
	got := performed(t, false, func(c *container) { c.boot() })
	want := performed(t, true, (*container).bootReal)
	// supervisord ends its listener whether or not that has heard of the end.
	if !strings.HasPrefix(got, want) || !strings.Contains(want, "type:some kind") {
		t.Errorf("the unit told\n%s\nsupervisord\n%s", got, want)
	}
}
