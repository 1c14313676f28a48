package goal_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/spec/protocol"
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
	failed    map[string]int       // attempts that failed, by goal and index
	completed map[string]int       // ends that succeeded, by round and index
	final     map[string]bool      // those that must not be tried again
	since     map[string]time.Time // when the first run began, by goal
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
	c := &crew{world: w, task: task, failed: map[string]int{}, completed: map[string]int{}, final: map[string]bool{}, since: map[string]time.Time{}}
	c.goal(goal.Up, nil)
	return c
}

// with makes it one of a certain Task, on so many workers.
func (c *crew) with(task goal.Task, workers int) *crew {
	c.task, c.m, c.replaced = task, tasks(task), true
	c.s.Replicas = []goal.Replica{c.replica("web")}
	for range workers {
		c.s.Replicas = append(c.s.Replicas, c.replica("workers"))
	}
	return c
}

// goal asks for a state of all components, and keeps what was noted of Tasks.
func (c *crew) goal(all string, states map[string]string) {
	var noted map[string]goal.Record
	if c.doc != nil {
		noted = c.doc.Tasks
	}
	c.world.goal(all, states)
	c.doc.Tasks = noted
}

// again asks for one more round.
func (c *crew) again() {
	c.doc = c.m.Again(c.doc, c.s, "load")
	c.seq++
	c.doc.Revision.Counter = c.seq
	c.doc.Asked = c.doc.Revision
}

// firstRun lets everything end well until an index runs.
func (c *crew) firstRun() underWay {
	c.t.Helper()
	for range 100 {
		c.decide()
		for _, u := range c.running() {
			if u.step.Operation == protocol.TaskRun {
				return u
			}
			c.end(u, true)
		}
	}
	c.t.Fatalf("no index is begun: %+v", c.last)
	return underWay{}
}

// goalOf is the goal that asked for an execution.
func goalOf(id string) string { return id[:len(id)-16] }

// step is look, and ends something. It reports whether anything happened.
func (c *crew) step(well func() bool, code int) bool {
	c.t.Helper()
	d, running := c.look(), c.running()
	if len(running) > 0 {
		c.finish(running[c.r.IntN(len(running))], well(), code)
	}
	return len(d.Steps)+len(d.Records)+len(running) > 0
}

// look decides, and holds what is begun against what a Task promises.
func (c *crew) look() *goal.Decision {
	c.t.Helper()
	before := c.m.TaskStatuses(c.doc, c.s)["load"]
	d := c.decide()
	if before.Phase == goal.TaskCompleted {
		clear(c.since)
	}
	for _, st := range d.Steps {
		switch {
		case st.Component == "api" && st.Operation.Name == "start" && before.Phase != goal.TaskCompleted:
			c.t.Fatalf("seed %d: api starts while the task is %+v", c.seed, before)
		case st.Part == nil:
			continue
		}
		if c.since[goalOf(st.ID)].IsZero() {
			c.since[goalOf(st.ID)] = c.s.Now
		}
		x, since := before.Indexes[st.Part.Index], c.since[goalOf(st.ID)]
		switch at := since.Add(c.task.Deadline); {
		case x.Phase == goal.TaskCompleted || x.Phase == goal.TaskRunning || x.Phase == goal.TaskFailed:
			c.t.Fatalf("seed %d: index %d is begun, and was %+v", c.seed, st.Part.Index, x)
		case x.Until.After(c.s.Now):
			c.t.Fatalf("seed %d: index %d is begun before its pause is over at %s", c.seed, st.Part.Index, x.Until)
		case c.task.Deadline > 0 && (!c.s.Now.Before(at) || st.Timeout != at.Sub(c.s.Now)):
			c.t.Fatalf("seed %d: index %d may take %s at %s, and the deadline is %s", c.seed, st.Part.Index, st.Timeout, c.s.Now, at)
		}
	}
	parts := map[string]int{}
	for _, r := range c.s.Replicas {
		if x := r.Components["load"].Executing; x != nil && x.Part != nil && goal.Ours(x.ID) {
			parts[fmt.Sprintf("round %d index %d", x.Part.Round, x.Part.Index)]++
		}
	}
	all := 0
	for part, n := range parts {
		if all += n; n > 1 {
			c.t.Fatalf("seed %d: %s runs %d times at once", c.seed, part, n)
		}
	}
	if all > c.task.Parallelism {
		c.t.Fatalf("seed %d: %d run at once, and %d may", c.seed, all, c.task.Parallelism)
	}
	return d
}

// finish ends an operation, and counts it.
func (c *crew) finish(u underWay, well bool, code int) {
	c.t.Helper()
	x := c.s.Replicas[u.replica].Components[u.component].Executing
	part, id := x.Part, x.ID
	if part != nil && !well && code > 0 {
		x.ExitCode = &code
	}
	c.end(u, well || part == nil)
	switch key := ""; {
	case part == nil || !goal.Ours(id):
	case well:
		key = fmt.Sprintf("round %d index %d", part.Round, part.Index)
		if c.completed[key]++; c.completed[key] > 1 && (!c.replaced || c.task.Never) {
			c.t.Fatalf("seed %d: %s is completed %d times", c.seed, key, c.completed[key])
		}
	default:
		key = fmt.Sprintf("goal %s index %d", goalOf(id), part.Index)
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
	for s := *seed; s < *seed+uint64(*varied)*10; s++ {
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

// disturbTask replaces a container, adds or takes away one, cuts it off or restarts it, cancels
// a run or runs an index as a person does, or asks for all of it again.
func (c *crew) disturbTask() {
	c.look() // what was completed is noted before a container is replaced
	i := 1 + c.r.IntN(len(c.s.Replicas)-1)
	r := &c.s.Replicas[i]
	load := r.Components["load"]
	runs := load.Executing != nil && load.Executing.Part != nil
	switch c.r.IntN(8) {
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
	case 4:
		if runs { // nobody saw its end
			c.finish(underWay{replica: i, component: "load"}, false, 0)
		}
	case 5:
		if runs {
			load.Executing.Cancelled = true // which is no failure
			c.end(underWay{replica: i, component: "load"}, false)
		}
	case 6:
		if step, ok := protocol.Task().Next(load.State, protocol.TaskRun, false, c.implemented("load")); ok && load.Executing == nil {
			part := c.m.NextPart(c.s, c.doc, "load", c.r.IntN(c.task.Completions))
			c.begin(i, "load", fmt.Sprintf("person-%d", c.seq), "jo", protocol.TaskRun)
			c.s.Replicas[i].Components["load"].Executing.Part = &part
			if c.r.IntN(2) == 0 {
				c.finish(underWay{i, "load", step}, c.r.IntN(2) == 0, 3)
			}
		}
	case 7:
		if c.r.IntN(4) == 0 {
			c.again()
		}
	}
}

func TestWhatATaskCompletedInAReplacedContainer(t *testing.T) {
	t.Parallel()
	for _, never := range []bool{true, false} {
		t.Run(fmt.Sprintf("never=%t", never), func(t *testing.T) {
			t.Parallel()
			c := newCrew(t, 1).with(goal.Task{Completions: 3, Parallelism: 3, BackoffLimit: 3, Never: never}, 2)
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
		c.again()
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
	for _, never := range []bool{true, false} {
		t.Run(fmt.Sprintf("never=%t", never), func(t *testing.T) {
			t.Parallel()
			c := newCrew(t, 2).with(goal.Task{Completions: 4, Parallelism: 2, BackoffLimit: 1, Never: never}, 3)
			c.rest()
			c.completed = map[string]int{}
			c.goal(goal.Down, nil)
			c.rest()
			c.reached(c.last, 2)
			shown := c.m.Settled(c.s, c.doc)
			for i, r := range c.s.Replicas[1:] {
				if state := r.Components["load"].State; state != protocol.Deleted || shown.Replicas[1+i].Components["load"].State != state {
					t.Errorf("it is %s, and shown as %s", state, shown.Replicas[1+i].Components["load"].State)
				}
			}
			c.goal(goal.Up, nil)
			if st := c.rest(); st.Phase != goal.TaskCompleted {
				t.Fatalf("%+v", st)
			}
			for i := range 4 {
				if n := c.completed[fmt.Sprintf("round 0 index %d", i)]; n != 1 {
					t.Errorf("index %d ran %d times more", i, n)
				}
			}
		})
	}
}

func TestWhatStillRunsOfTheRoundBeforeCountsAsRunning(t *testing.T) {
	t.Parallel()
	c := newCrew(t, 1).with(goal.Task{Completions: 6, Parallelism: 1}, 3)
	before := c.firstRun()
	c.again()
	c.decide()
	if running := c.running(); len(running) != 1 {
		t.Fatalf("%d run at once", len(running))
	}
	if others := c.last.Obstacles; len(others) < 2 || !others[0].Waits || others[0].Reason != "index 1 waits: 1 of at most 1 run" {
		t.Errorf("in the way is %+v", others)
	}
	c.end(before, true)
	if st := c.rest(); st.Phase != goal.TaskCompleted || st.Round != 1 {
		t.Errorf("%+v", st)
	}
}

func TestADeadlinePassesHoweverOftenTheContainerIsReplaced(t *testing.T) {
	t.Parallel()
	c := newCrew(t, 1).with(goal.Task{Completions: 1, Parallelism: 1, BackoffLimit: 1, Deadline: time.Minute}, 1)
	c.firstRun()
	first := c.s.Now
	for range 7 {
		c.s.Replicas[1] = c.replica("workers") // and with it what its journal had
		c.s.Now = c.s.Now.Add(8 * time.Second)
		c.firstRun()
	}
	c.s.Replicas[1] = c.replica("workers")
	c.s.Now = first.Add(time.Minute)
	st := c.rest()
	if st.Phase != goal.TaskFailed || st.Reason != "its deadline of 1m0s has passed" || !st.Since.Equal(first) || *st.ExitCode != 124 {
		t.Errorf("%+v", st)
	}
	c.goal(goal.Up, nil)
	if c.firstRun(); c.m.TaskStatuses(c.doc, c.s)["load"].Since.Equal(first) {
		t.Error("a new goal has no time of its own")
	}
}

func TestADeadlineOfTheDefaultGoalIsKnownFromJournalsUntilItIsNoted(t *testing.T) {
	t.Parallel()
	c := newCrew(t, 1).with(goal.Task{Completions: 2, Parallelism: 1, BackoffLimit: 1, Deadline: time.Minute}, 2)
	c.doc = &goal.Document{All: goal.Up}
	run := c.firstRun()
	first := c.s.Now
	c.doc = &goal.Document{All: goal.Up} // of another manager: the first ended before a unit had what it noted
	c.s.Now = first.Add(10 * time.Second)
	c.finish(run, true, 0)
	c.decide()
	if st := c.m.TaskStatuses(c.doc, c.s)["load"]; !st.Since.Equal(first) {
		t.Errorf("%s has become %s", first, st.Since)
	}
	c.rest()
	c.doc = &goal.Document{All: goal.Up} // and nobody ever kept any
	c.s.Now = c.s.Now.Add(time.Hour)
	c.decide()
	c.s.Replicas[1] = c.replica("workers")
	if st := c.rest(); st.Phase != goal.TaskCompleted {
		t.Errorf("replaced later, it is %+v", st)
	}
}

func TestADeadlineThatWasMetBeginsAnewForAContainerThatIsReplacedLater(t *testing.T) {
	t.Parallel()
	c := newCrew(t, 1).with(goal.Task{Completions: 4, Parallelism: 2, Deadline: time.Minute}, 2)
	first := c.rest()
	c.s.Now = c.s.Now.Add(time.Hour)
	c.decide()
	c.s.Replicas[1] = c.replica("workers")
	if st := c.rest(); first.Phase != goal.TaskCompleted || st.Phase != goal.TaskCompleted || st.Indexes[0].Instance == first.Indexes[0].Instance {
		t.Errorf("it was %+v, and is %+v", first, st)
	}
}

func TestWhatAPersonRunsInVainCountsForNothing(t *testing.T) {
	t.Parallel()
	c := newCrew(t, 1).with(goal.Task{Completions: 1, Parallelism: 1, BackoffLimit: 2, FailOn: []int{3}}, 1)
	person := func() {
		part := c.m.NextPart(c.s, c.doc, "load", 0)
		c.begin(1, "load", fmt.Sprintf("person-%d", c.seq), "jo", protocol.TaskRun)
		c.s.Replicas[1].Components["load"].Executing.Part = &part
		c.finish(underWay{replica: 1, component: "load"}, false, 3)
	}
	c.finish(c.firstRun(), false, 1)
	before := c.m.TaskStatuses(c.doc, c.s)["load"]
	person()
	if st := c.m.TaskStatuses(c.doc, c.s)["load"]; st.Phase != goal.TaskRetrying || st.Until != before.Until || st.Indexes[0].Attempts != 1 {
		t.Errorf("it was %+v, and is %+v", before, st)
	}
	c.rest()
	person()
	if st := c.m.TaskStatuses(c.doc, c.s)["load"]; st.Phase != goal.TaskCompleted {
		t.Errorf("what was completed is %+v", st)
	}
}
