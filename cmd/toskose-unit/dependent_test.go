package main_test

import (
	"strings"
	"testing"
)

// TestDependentStartupStartsProgramsInOrder: a program that has exited, even a long-running one, lets those that wait for
// its exit start, and one that is RUNNING those that wait for that.
func TestDependentStartupStartsProgramsInOrder(t *testing.T) {
	t.Parallel()
	c := newContainer(t, `[eventlistener:dependentstartup]
command=DIR/supervisord_dependent_startup
events=PROCESS_STATE
[program:migrate]
command=/bin/sh -c 'sleep 0.3; echo migrate >>DIR/order'
autostart=false
autorestart=false
startsecs=0
dependent_startup=true
dependent_startup_wait_for=db:running
[program:web]
command=/bin/sh -c 'echo web >>DIR/order; exec sleep 1000'
autostart=false
dependent_startup=true
dependent_startup_wait_for=migrate:exited
[program:db]
command=/bin/sh -c 'sleep 0.3; echo db >>DIR/order; touch DIR/ready; exec sleep 1000'
autostart=false
dependent_startup=true
startsecs=0
toskose_ready_command=test -e DIR/ready
`)
	c.boot()
	c.until("order", "web")
	if got := strings.Fields(c.read("order")); strings.Join(got, " ") != "db migrate web" {
		t.Errorf("the order is %v", got)
	}
}
