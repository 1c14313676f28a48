package main_test

import (
	"bufio"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/unit/wire"
)

// The idiom of supervisor-stdout: a listener sends back what it is sent, and its
// result handler prints that.
const (
	relayConf = `[supervisord]
logfile=DIR/log
pidfile=DIR/pid
childlogdir=DIR
[program:talker]
command=/bin/sh -c 'echo one; echo and more; while ! [ -e DIR/on ]; do sleep 0.05; done; echo two; exec sleep 1000'
stdout_events_enabled=true
[eventlistener:stdout]
command=/bin/sh DIR/relay.sh
buffer_size=100
events=PROCESS_LOG
startsecs=0
result_handler=printing:event_handler
`
	relayScript = `while printf 'READY\n' && IFS= read -r header; do
  length=${header##*len:}
  head -c "$length" > DIR/payload
  printf 'RESULT %s\n' "$length"
  cat DIR/payload
  cat DIR/payload >> DIR/deliveries
done
`
	relayHandler = `import sys
def event_handler(event, response):
    header, data = response.decode().split("\n", 1)
    of = dict(word.split(":") for word in header.split())
    for line in data.splitlines():
        sys.stdout.write("%s %s | %s\n" % (of["processname"], of["channel"], line))
    sys.stdout.flush()
`
)

func TestAListenerRelaysOutputToTheContainers(t *testing.T) {
	t.Parallel()
	beside(t, func(t *testing.T, s *side) {
		s.write("x.conf", relayConf)
		s.write("relay.sh", relayScript)
		s.write("printing.py", relayHandler)
		s.env = append(s.env, "PYTHONPATH="+s.dir)
		s.start("-n", "-c", "DIR/x.conf")
		s.await("deliveries", "and more\n")
		s.write("on", "")
		deliveries := s.await("deliveries", "two\n") // so that the result before it has been taken
		s.stop()
		if got := strings.Count(deliveries, "one\n"); got != 1 {
			t.Errorf("one line was delivered %d times:\n%s", got, deliveries)
		}
		if out := s.out.String(); !strings.Contains(out, "talker stdout | one\n") || !strings.Contains(out, "talker stdout | and more\n") {
			t.Errorf("the output has\n%s", out)
		}
	})
}

func TestAListenerWhoseResultsNobodyReadsIsHeldAndNobodyElse(t *testing.T) {
	t.Parallel()
	const told, lines = 20, 4000 // 5 MB, more than the unit would keep
	c, stdout := outputOf(t, `[eventlistener:relay]
command=/bin/sh DIR/answer.sh
directory=DIR
buffer_size=100
events=REMOTE_COMMUNICATION
startsecs=0
autostart=false
result_handler=printing:event_handler
`+manual("other", "echo has run", "stdout_logfile=DIR/other.log"))
	var body strings.Builder
	for i := range lines {
		fmt.Fprintf(&body, "%04d 0123456789012345678901234567890123456789012345678901234567\n", i)
	}
	c.write("body", body.String())
	c.write("answer.sh", fmt.Sprintf(`n=0
while printf 'READY\n' && IFS= read -r header; do
  head -c "${header##*len:}" > payload
  printf 'RESULT %d\nresult %%02d\n' $n
  cat body
  n=$((n+1))
  echo $n >> answered
done
`, body.Len()+len("result 00\n")))
	c.must("supervisor.startProcess", "relay")
	for range told {
		c.tell("thing", "data")
	}
	c.until("unit.log", `blocked: its output is not being read" process=relay`)
	if answered := strings.Count(c.read("answered"), "\n"); answered == 0 || answered == told {
		t.Errorf("it answered %d of %d events", answered, told)
	}
	c.must("supervisor.startProcess", "other")
	c.inState("other", wire.Exited)
	if text := c.read("other.log"); text != "has run\n" {
		t.Errorf("the log of the other has %q", text)
	}
	c.tell("thing", "the last")

	if err := stdout.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	text := bufio.NewScanner(stdout)
	for n := range told + 1 {
		for i, want := range strings.Split(fmt.Sprintf("result %02d\n%s", n, strings.TrimSuffix(body.String(), "\n")), "\n") {
			if !text.Scan() || text.Text() != want {
				t.Fatalf("line %d of result %d is %q, %v", i, n, text.Text(), text.Err())
			}
		}
	}
	c.terminate()
}
