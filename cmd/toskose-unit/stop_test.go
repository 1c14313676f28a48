package main_test

import (
	"fmt"
	"strings"
	"testing"

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
