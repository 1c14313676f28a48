package keep_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/keep"
	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/spec/protocol"
)

// migrating is an application with the Task "migrate", on replicas of "jobs".
func migrating(task goal.Task) *application {
	a := newApplication()
	a.m = goal.NewModel(goal.Model{
		Elements: []plan.Element{
			{Name: "jobs", Protocol: protocol.Container()},
			{Name: "migrate", Protocol: protocol.Task(), Bindings: []plan.Binding{{Requirement: protocol.Host, Target: "jobs", Capability: protocol.Host}}},
		},
		Node: map[string]string{"migrate": "jobs"}, Tasks: map[string]goal.Task{"migrate": task},
	})
	return a
}

// ran is how often something was run.
func (a *application) ran(name string) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, run := range a.runs {
		if run == name {
			n++
		}
	}
	return n
}

func TestATaskRunsToItsEndThroughANewManagerAndIsRunAgainWhenAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := migrating(goal.Task{Completions: 5, Parallelism: 2, BackoffLimit: 2})
		a.fails["migrate:run"] = 2
		a.add("jobs")
		a.add("jobs")
		k, end := a.keeper(t, goal.Up)
		time.Sleep(5 * time.Second) // two of it have run, and failed
		end()
		if st := k.Status().Tasks["migrate"]; st.Completed == 5 || a.ran("migrate:run") == 0 {
			t.Fatalf("the first manager ended when %+v", st)
		}
		k, _ = a.keeper(t, goal.Up)
		st := a.settle(k).Tasks["migrate"]
		if st.Phase != goal.TaskCompleted || a.ran("migrate:run") != 7 || len(a.odd) > 0 {
			t.Fatalf("%+v after %d runs, %v", st, a.ran("migrate:run"), a.odd)
		}
		s, err := k.RunTask(t.Context(), "migrate", true, "jo", time.Now())
		if err != nil || s.Document.Tasks["migrate"].Round != 1 || s.Document.By != "jo" || s.Document.All != goal.Up {
			t.Fatalf("again: %+v %v", s.Document, err)
		}
		st = a.settle(k).Tasks["migrate"]
		if st.Phase != goal.TaskCompleted || st.Round != 1 || a.ran("migrate:run") != 12 {
			t.Fatalf("%+v after %d runs", st, a.ran("migrate:run"))
		}
		if _, err := k.RunTask(t.Context(), "jobs", true, "jo", time.Now()); !errors.Is(err, keep.ErrNoTask) {
			t.Errorf("a container is asked for again: %v", err)
		}
	})
}

func TestWhatATaskHasCompletedStaysInTheGoalThroughNewGoalsAndContainers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := migrating(goal.Task{Completions: 2, Parallelism: 2, Never: true})
		a.add("jobs")
		k, _ := a.keeper(t, goal.Up)
		a.settle(k)
		if _, err := k.Set(t.Context(), keep.Ask{All: goal.Up}, time.Now()); err != nil {
			t.Fatal(err)
		}
		a.add("jobs")
		a.settle(k) // it keeps the goal, too
		a.do(func() { a.replicas = a.replicas[1:] })
		s := a.settle(k)
		if done := s.Document.Tasks["migrate"].Done; !slices.Equal(done, []int{0, 1}) {
			t.Errorf("the document has %v", done)
		}
		if st := s.Tasks["migrate"]; a.ran("migrate:run") != 2 || st.Phase != goal.TaskCompleted || !s.Decision.Done() {
			t.Errorf("%+v after %d runs, %+v", st, a.ran("migrate:run"), s.Decision.Obstacles)
		}
	})
}

// try is what came of the attempts at an index, or at all of them, for a goal.
type try struct {
	since  time.Time // of the first
	again  time.Time // not before
	failed int
	final  bool // one ended with a code of FailOn
}

// tried names the tries of an index for the goal that asked for a step, and of all its indexes.
func tried(step goal.Step) (index, all string) {
	all = step.ID[:len(step.ID)-16]
	return fmt.Sprintf("%s index %d", all, step.Part.Index), all
}

// tryBegins reports whether a Task may not have the step begun. The caller holds the lock.
func (a *application) tryBegins(step goal.Step) (refused bool) {
	if step.Part == nil {
		return false
	}
	task, now := a.m.Tasks[step.Component], time.Now()
	index, all := tried(step)
	if a.tries[all].since.IsZero() {
		a.tries[all] = try{since: now}
	}
	x, end := a.tries[index], a.tries[all].since.Add(task.Deadline)
	return now.Before(x.again) || x.final || x.failed > task.BackoffLimit || task.Deadline > 0 && (!now.Before(end) || step.Timeout <= 0 || now.Add(step.Timeout).After(end))
}

// tryEnds notes the end of an index. The caller holds the lock.
func (a *application) tryEnds(step goal.Step, run *goal.Run) {
	index, _ := tried(step)
	x := a.tries[index]
	if run.Failed {
		code := a.code
		run.ExitCode = &code
		x.again = time.Now().Add(time.Second << x.failed) // 1, 2, 4, … s
		x.failed, x.final = x.failed+1, slices.Contains(a.m.Tasks[step.Component].FailOn, code)
	} else {
		a.parts[fmt.Sprintf("round %d index %d", step.Part.Round, step.Part.Index)]++
	}
	a.tries[index] = x
}

// TestATaskKeepsItsNumbersThroughLostAnswersAndNewManagers: links are cut and mended, managers end
// and others begin, and all of it is asked for again.
func TestATaskKeepsItsNumbersThroughLostAnswersAndNewManagers(t *testing.T) {
	failed := 0
	for s := *seed; s < *seed+uint64(*schedules)*5; s++ {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(s, 18))
			task := goal.Task{Completions: 1 + r.IntN(12), Parallelism: 1 + r.IntN(4), BackoffLimit: r.IntN(4), Never: r.IntN(2) == 0, FailOn: []int{3}}
			if r.IntN(2) == 0 {
				task.Deadline = time.Duration(4+r.IntN(10)) * time.Second
			}
			a := migrating(task)
			for range 1 + r.IntN(4) {
				a.add("jobs")
			}
			a.fails["migrate:run"], a.code = r.IntN(9), 1+r.IntN(3)
			l, round := a.link(), 0
			k, end := l.keeper(t, goal.Up)
			for range 20 {
				time.Sleep(time.Duration(r.IntN(3000)) * time.Millisecond)
				switch u := a.replicas[r.IntN(len(a.replicas))]; r.IntN(4) {
				case 0, 1:
					a.do(func() { l.cut[u] = !l.cut[u] })
				case 2:
					end()
					k, end = l.keeper(t, goal.Up)
				case 3:
					if r.IntN(4) == 0 {
						asked, cancel := context.WithTimeout(t.Context(), 5*time.Second)
						_, _ = k.RunTask(asked, "migrate", true, "jo", time.Now()) // kept or not, it holds once the links are whole
						cancel()
						round++
					}
				}
			}
			a.do(func() { clear(l.cut) })
			st := a.rest(k)
			for goals := 0; st.Phase == goal.TaskFailed && goals < 20; goals++ {
				failed++
				if _, err := k.RunTask(t.Context(), "migrate", false, "jo", time.Now()); err != nil {
					t.Fatal(err)
				}
				st = a.rest(k)
			}
			if st.Phase != goal.TaskCompleted || st.Round > round || a.most > task.Parallelism || len(a.odd) > 0 {
				t.Fatalf("seed %d: %+v after %d rounds, %d at once\n%s\n%+v", s, task, round, a.most, strings.Join(a.odd, "\n"), st)
			}
			for part, n := range a.parts {
				if n != 1 {
					t.Errorf("seed %d: %s was completed %d times", s, part, n)
				}
			}
		})
	}
	if failed == 0 {
		t.Error("nothing failed for good")
	}
}

// rest waits until the Task is completed or has failed, through pauses before what failed is
// tried again.
func (a *application) rest(k *keep.Keeper) (st goal.TaskStatus) {
	for range 8 {
		if st = a.settle(k).Tasks["migrate"]; st.Phase == goal.TaskCompleted || st.Phase == goal.TaskFailed {
			break
		}
	}
	return st
}

func TestAGoalForATaskOnlyLeavesTheOthersAsTheyWere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := migrating(goal.Task{Completions: 1, Parallelism: 1})
		a.add("jobs")
		k, _ := a.keeper(t, "")
		a.settle(k)
		s, err := k.RunTask(t.Context(), "migrate", true, "jo", time.Now())
		if err != nil || s.Document.All != "" || s.Document.States["migrate"] != protocol.Completed {
			t.Fatalf("%+v %v", s.Document, err)
		}
		if st := a.settle(k).Tasks["migrate"]; st.Phase != goal.TaskCompleted {
			t.Errorf("%+v", st)
		}
	})
}

func TestWhatTwoAskForAtOnceIsAskedForTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := migrating(goal.Task{Completions: 2, Parallelism: 2})
		a.add("jobs")
		k, _ := a.keeper(t, goal.Up)
		a.settle(k)
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if _, err := k.RunTask(t.Context(), "migrate", true, "jo", time.Now()); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		if st := a.settle(k).Tasks["migrate"]; st.Phase != goal.TaskCompleted || st.Round != 2 || k.Status().Document.Tasks["migrate"].Round != 2 {
			t.Errorf("%+v", st)
		}
	})
}

func TestWhatIsAskedOfANewManagerKeepsTheGoalThatTheUnitsHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := migrating(goal.Task{Completions: 1, Parallelism: 1})
		a.add("jobs")
		k, end := a.keeper(t, "")
		for range 2 {
			if _, err := k.RunTask(t.Context(), "migrate", true, "jo", time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := k.Set(t.Context(), keep.Ask{Merge: true, States: map[string]string{"other": "up"}}, time.Now()); err != nil {
			t.Fatal(err)
		}
		a.settle(k)
		end()
		k, _ = a.keeper(t, "")
		s, err := k.RunTask(t.Context(), "migrate", true, "jo", time.Now()) // before it has read any
		if d := s.Document; err != nil || d.States["other"] != "up" || d.Tasks["migrate"].Round != 3 {
			t.Errorf("%+v, %v", d, err)
		}
	})
}
