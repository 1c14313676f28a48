package goal_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/tosca/protocol"
	"github.com/toskose/toskose/tosca/protocol/plan"
	"github.com/toskose/toskose/unit/wire"
)

// tasks is an application with the Task "load" in "workers", and "api" in "web", which
// requires its feature.
func tasks(task goal.Task) *goal.Model {
	hosted := func(name, host string, p protocol.Protocol, more ...plan.Binding) plan.Element {
		for _, requirement := range []string{protocol.Host, protocol.Alive} {
			more = append(more, plan.Binding{Requirement: requirement, Target: host, Capability: requirement})
		}
		return plan.Element{Name: name, Protocol: p, Bindings: more}
	}
	return goal.NewModel(goal.Model{
		Elements: []plan.Element{
			{Name: "web", Protocol: protocol.Container().Hosting()},
			{Name: "workers", Protocol: protocol.Container().Hosting()},
			hosted("load", "workers", protocol.Task()),
			hosted("api", "web", protocol.Software(), plan.Binding{Requirement: protocol.Dependency, Target: "load", Capability: protocol.Feature}),
		},
		Node:  map[string]string{"load": "workers", "api": "web"},
		Tasks: map[string]goal.Task{"load": task},
	})
}

// crew is a world with a Task, and what is counted of it.
type crew struct {
	*world
	task      goal.Task
	failed    map[string]int  // attempts that failed, by goal and index
	completed map[string]int  // ends that succeeded, by round and index
	final     map[string]bool // those that must not be tried again
	replaced  bool
}

func newCrew(t *testing.T, s uint64) *crew {
	r := rand.New(rand.NewPCG(s, 18))
	task := goal.Task{Completions: 1 + r.IntN(8), BackoffLimit: r.IntN(4), Never: r.IntN(2) == 0, FailOn: []int{3}}
	if r.IntN(8) == 0 {
		task.Completions = wire.MaxIndexes
	}
	task.Parallelism = 1 + r.IntN(task.Completions)
	if r.IntN(3) == 0 {
		task.Deadline = time.Duration(20+r.IntN(100)) * time.Second
	}
	w := &world{t: t, seed: s, r: r, m: tasks(task), ids: map[string]bool{}, along: r.IntN(2) == 0}
	w.s.Now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	w.s.Complete = true
	w.s.Replicas = append(w.s.Replicas, w.replica("web"))
	for range 1 + r.IntN(5) {
		w.s.Replicas = append(w.s.Replicas, w.replica("workers"))
	}
	c := &crew{world: w, task: task, failed: map[string]int{}, completed: map[string]int{}, final: map[string]bool{}}
	c.goal(goal.Up, nil)
	return c
}

// step decides, holds what is begun against what a Task promises, and ends something. It
// reports whether anything happened.
func (c *crew) step(well func() bool, code int) bool {
	c.t.Helper()
	before := c.m.TaskStatuses(c.doc, c.s)["load"]
	d := c.decide()
	for _, st := range d.Steps {
		switch {
		case st.Component == "api" && st.Operation.Name == "start" && before.Phase != goal.TaskCompleted:
			c.t.Fatalf("seed %d: api starts while the task is %+v", c.seed, before)
		case st.Part == nil:
			continue
		}
		x := before.Indexes[st.Part.Index]
		switch at := before.Since.Add(c.task.Deadline); {
		case x.Phase == goal.TaskCompleted || x.Phase == goal.TaskRunning || x.Phase == goal.TaskFailed:
			c.t.Fatalf("seed %d: index %d is begun, and was %+v", c.seed, st.Part.Index, x)
		case x.Until.After(c.s.Now):
			c.t.Fatalf("seed %d: index %d is begun before its pause is over at %s", c.seed, st.Part.Index, x.Until)
		case c.task.Deadline > 0 && !before.Since.IsZero() && (!c.s.Now.Before(at) || st.Timeout != at.Sub(c.s.Now)):
			c.t.Fatalf("seed %d: index %d may take %s at %s, and the deadline is %s", c.seed, st.Part.Index, st.Timeout, c.s.Now, at)
		}
	}
	parts := map[int]int{}
	for _, r := range c.s.Replicas {
		if x := r.Components["load"].Executing; x != nil && x.Part != nil {
			parts[x.Part.Index]++
		}
	}
	all := 0
	for index, n := range parts {
		if all += n; n > 1 {
			c.t.Fatalf("seed %d: index %d runs %d times at once", c.seed, index, n)
		}
	}
	if all > c.task.Parallelism {
		c.t.Fatalf("seed %d: %d run at once, and %d may", c.seed, all, c.task.Parallelism)
	}
	running := c.running()
	if len(running) > 0 {
		c.finish(running[c.r.IntN(len(running))], well(), code)
	}
	return len(d.Steps)+len(d.Records)+len(running) > 0
}

// finish ends an operation, and counts it.
func (c *crew) finish(u underWay, well bool, code int) {
	c.t.Helper()
	x := c.s.Replicas[u.replica].Components[u.component].Executing
	part, id := x.Part, x.ID
	if part != nil && !well {
		x.ExitCode = &code
	}
	c.end(u, well || part == nil)
	switch key := ""; {
	case part == nil:
	case well:
		key = fmt.Sprintf("round %d index %d", part.Round, part.Index)
		if c.completed[key]++; c.completed[key] > 1 && !c.replaced {
			c.t.Fatalf("seed %d: %s is completed %d times", c.seed, key, c.completed[key])
		}
	default:
		key = fmt.Sprintf("goal %s index %d", id[:len(id)-16], part.Index)
		if c.failed[key]++; c.failed[key] > c.task.BackoffLimit+1 && !c.replaced {
			c.t.Fatalf("seed %d: %s failed %d times, and may be tried again %d times", c.seed, key, c.failed[key], c.task.BackoffLimit)
		}
		if c.final[key] && !c.replaced {
			c.t.Fatalf("seed %d: %s was tried again after code 3", c.seed, key)
		}
		c.final[key] = slices.Contains(c.task.FailOn, code)
	}
}

// rest lets everything end well until nothing happens any more.
func (c *crew) rest() goal.TaskStatus {
	c.t.Helper()
	for range 4000 {
		if c.step(func() bool { return true }, 0) {
			c.s.Now = c.s.Now.Add(time.Second)
			continue
		}
		if c.last.Wake.IsZero() {
			return c.m.TaskStatuses(c.doc, c.s)["load"]
		}
		c.s.Now = c.last.Wake
	}
	c.t.Fatalf("seed %d does not come to rest: %+v\n%s", c.seed, c.last, c.world)
	return goal.TaskStatus{}
}

func TestATaskKeepsItsNumbersThroughWhateverHappens(t *testing.T) {
	t.Parallel()
	begun, completed, failed := 0, 0, 0
	for s := *seed; s < *seed+uint64(*varied)*20; s++ {
		c := newCrew(t, s)
		disturbs := c.r.IntN(2) == 0
		for range 80 {
			c.step(func() bool { return c.r.IntN(3) > 0 }, 1+c.r.IntN(3))
			if c.r.IntN(3) == 0 {
				c.s.Now = c.s.Now.Add(time.Duration(c.r.IntN(5)) * time.Second)
			}
			if disturbs && c.r.IntN(6) == 0 {
				c.disturbTask()
			}
		}
		for i := range c.s.Replicas {
			c.s.Replicas[i].Problem, c.s.Replicas[i].Unknown = "", false
		}
		switch st := c.rest(); st.Phase {
		case goal.TaskCompleted:
			completed++
			c.reached(c.decide(), s)
		case goal.TaskFailed:
			failed++
			if c.last.Done() || st.Reason == "" || st.Failed == 0 {
				t.Fatalf("seed %d: failed without a reason, or as if it had not: %+v", s, st)
			}
			for tries := 0; st.Phase != goal.TaskCompleted; tries++ { // a deadline may pass more than once
				if tries == 4 {
					t.Fatalf("seed %d: new goals do not complete what failed: %+v\n%+v", s, st, c.last.Obstacles)
				}
				c.goal(goal.Up, nil)
				st = c.rest()
			}
		default:
			t.Fatalf("seed %d: at rest, and %+v\n%+v\n%s", s, st, c.last.Obstacles, c.world)
		}
		begun += c.begun
	}
	if begun < 1000 || completed == 0 || failed == 0 {
		t.Errorf("only %d operations were begun; %d tasks were completed, and %d failed", begun, completed, failed)
	}
}

// disturbTask replaces a container, adds or takes away one, or cuts it off.
func (c *crew) disturbTask() {
	i := 1 + c.r.IntN(len(c.s.Replicas)-1)
	r := &c.s.Replicas[i]
	switch c.r.IntN(4) {
	case 0:
		c.replaced = true
		*r = c.replica("workers")
	case 1:
		if r.Problem == "" {
			r.Problem, r.Unknown = "does not answer", true
		} else {
			r.Problem, r.Unknown = "", false
		}
	case 2:
		if len(c.s.Replicas) < 7 {
			c.s.Replicas = append(c.s.Replicas, c.replica("workers"))
		}
	case 3:
		if len(c.s.Replicas) > 2 {
			c.replaced = true
			c.s.Replicas = slices.Delete(c.s.Replicas, i, i+1)
		}
	}
}

func TestWhatATaskCompletedInAReplacedContainer(t *testing.T) {
	t.Parallel()
	for _, never := range []bool{true, false} {
		t.Run(fmt.Sprintf("never=%t", never), func(t *testing.T) {
			t.Parallel()
			c := newCrew(t, 1)
			c.task = goal.Task{Completions: 3, Parallelism: 3, BackoffLimit: 3, Never: never}
			c.m, c.replaced = tasks(c.task), true
			c.s.Replicas = []goal.Replica{c.replica("web"), c.replica("workers"), c.replica("workers")}
			if st := c.rest(); st.Completed != 3 {
				t.Fatalf("%+v", st)
			}
			c.s.Replicas[1] = c.replica("workers") // which ran 0 and 2
			st := c.rest()
			want := map[bool]int{true: 1, false: 2}[never]
			for _, index := range []int{0, 2} {
				if got := c.completed[fmt.Sprintf("round 0 index %d", index)]; got != want || !st.Indexes[index].Recorded == never {
					t.Errorf("index %d ran %d times, not %d: %+v", index, got, want, st.Indexes[index])
				}
			}
			if got := c.completed["round 0 index 1"]; got != 1 || st.Phase != goal.TaskCompleted {
				t.Errorf("index 1 ran %d times: %+v", got, st)
			}
			c.reached(c.last, 1)
		})
	}
}

func TestATaskIsRunAgainFromItsFirstIndexOn(t *testing.T) {
	t.Parallel()
	for s := range uint64(10) {
		c := newCrew(t, s)
		if st := c.rest(); st.Phase != goal.TaskCompleted || st.Round != 0 {
			t.Fatalf("%+v", st)
		}
		c.doc = c.m.Again(c.doc, c.s, "load")
		c.doc.Revision.Counter++
		c.doc.Asked = c.doc.Revision
		if st := c.m.TaskStatuses(c.doc, c.s)["load"]; st.Completed != 0 || st.Round != 1 || st.Phase != goal.TaskWaiting {
			t.Fatalf("asked for again: %+v", st)
		}
		if st := c.rest(); st.Phase != goal.TaskCompleted {
			t.Fatalf("seed %d: %+v %+v", s, st, c.last.Obstacles)
		}
		for i := range c.task.Completions {
			if n := c.completed[fmt.Sprintf("round 1 index %d", i)]; n != 1 {
				t.Errorf("seed %d: index %d ran %d times", s, i, n)
			}
		}
	}
}

func TestADownTaskIsDeletedAndRunsAgainWhenItIsUp(t *testing.T) {
	t.Parallel()
	c := newCrew(t, 2)
	c.task = goal.Task{Completions: 4, Parallelism: 2, BackoffLimit: 1}
	c.m, c.replaced = tasks(c.task), true
	c.rest()
	c.goal(goal.Down, nil)
	c.rest()
	c.reached(c.last, 2)
	for _, r := range c.s.Replicas[1:] {
		if state := r.Components["load"].State; state != protocol.Deleted {
			t.Errorf("it is %s", state)
		}
	}
	c.goal(goal.Up, nil)
	if st := c.rest(); st.Phase != goal.TaskCompleted {
		t.Fatalf("%+v", st)
	}
	for i := range 4 {
		if n := c.completed[fmt.Sprintf("round 0 index %d", i)]; n != 2 {
			t.Errorf("index %d ran %d times", i, n)
		}
	}
}
