package goal_test

import (
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/manager/goal"
)

// TestATaskThatHasTimedOutEndsAsByTimeout as a job does (124), and what failed otherwise ends with its own code
// however late it is.
func TestATaskThatHasTimedOutEndsAsByTimeout(t *testing.T) {
	t.Parallel()
	const deadline = 10 * time.Second
	for name, c := range map[string]struct {
		task   goal.Task
		after  time.Duration // the attempt ends
		code   int           // with this, or by a signal
		signal string
		limit  bool // as it took too long
		exit   int
		late   bool // its index is shown as timed out
		why    string
	}{
		"the deadline ends it":                    {goal.Task{Deadline: deadline, BackoffLimit: 3}, deadline, 0, "SIGTERM", true, 124, true, "its deadline of 10s has passed"},
		"the deadline ends the last attempt":      {goal.Task{Deadline: deadline}, deadline, 0, "SIGKILL", true, 124, true, "its deadline of 10s has passed"},
		"and it ends with a code of its own":      {goal.Task{Deadline: deadline, FailOn: []int{7}}, deadline, 7, "", true, 124, true, "its deadline of 10s has passed"},
		"the deadline passes before another one":  {goal.Task{Deadline: deadline, BackoffLimit: 3}, 9500 * time.Millisecond, 7, "", false, 124, true, "its deadline of 10s has passed"},
		"its own time limit ends it":              {goal.Task{}, time.Second, 0, "SIGTERM", true, 124, true, "index 0 failed by SIGTERM"},
		"its own limit, long before the deadline": {goal.Task{Deadline: deadline}, time.Second, 0, "SIGTERM", true, 124, true, "index 0 failed by SIGTERM"},
		"it fails before the deadline":            {goal.Task{Deadline: deadline}, time.Second, 7, "", false, 7, false, "index 0 failed with exit code 7"},
		"it fails for good before the deadline":   {goal.Task{Deadline: deadline, FailOn: []int{3}, BackoffLimit: 3}, time.Second, 3, "", false, 3, false, "index 0 failed with exit code 3; it is not tried again after this exit code"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newCrew(t, 1)
			w.task = c.task
			w.task.Completions, w.task.Parallelism = 1, 1
			w.m = tasks(w.task)
			w.s.Replicas = []goal.Replica{w.replica("web"), w.replica("workers")}
			u := w.untilLoads()
			x := w.s.Replicas[u.replica].Components[u.component].Executing
			if x.TimedOut, x.Signal = c.limit, c.signal; c.signal == "" {
				x.ExitCode = &c.code
			}
			w.s.Now = x.Part.Since.Add(c.after)
			w.end(u, false)
			if st := w.m.TaskStatuses(w.doc, w.s)["load"]; st.Phase == goal.TaskFailed && st.Reason == "its deadline of 10s has passed" && c.after < deadline {
				t.Errorf("the deadline has passed before its time: %+v", st)
			}
			w.s.Now = x.Part.Since.Add(2 * deadline)
			st := w.m.TaskStatuses(w.doc, w.s)["load"]
			if st.Phase != goal.TaskFailed || st.ExitCode == nil || *st.ExitCode != c.exit || st.Signal != "" || !strings.Contains(st.Reason, c.why) {
				t.Errorf("it is %+v", st)
			}
			i := st.Indexes[0]
			if i.TimedOut != c.late || i.Signal != c.signal || c.signal == "" && *i.ExitCode != c.code {
				t.Errorf("its index is %+v", i)
			}
			if d := w.decide(); len(d.Steps) > 0 {
				t.Errorf("it is tried again: %+v", d.Steps)
			}
		})
	}
}

// untilLoads lets all end well that comes before an index of the Task is under way.
func (c *crew) untilLoads() underWay {
	c.t.Helper()
	for range 100 {
		c.decide()
		for _, u := range c.running() {
			if c.s.Replicas[u.replica].Components[u.component].Executing.Part != nil {
				return u
			}
			c.finish(u, true, 0)
		}
	}
	c.t.Fatal("nothing loads")
	return underWay{}
}
