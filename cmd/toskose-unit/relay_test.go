package main_test

import (
	"strings"
	"testing"
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
		s.env = []string{"PYTHONPATH=" + s.dir}
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
