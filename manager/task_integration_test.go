package manager_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/fakeunit"
	"github.com/toskose/toskose/internal/testunit"
	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

// loading manages an application of the task load alone, of three indexes, on some units.
func loading(t *testing.T, units ...netip.AddrPort) *manager.App {
	t.Helper()
	return loadingAs(t, spec.Task{Completions: 3, Parallelism: 2, BackoffLimit: 3}, fakeunit.Containers{"backend": units})
}

// loadingAs manages an application of a task alone, which is called load.
func loadingAs(t *testing.T, task spec.Task, containers manager.Containers) *manager.App {
	t.Helper()
	model := &spec.Application{
		Name:  "loading",
		Nodes: []spec.Node{{Name: "backend", Type: "tosker.nodes.Container", Protocol: protocol.Container().Hosting(), Unit: &spec.Unit{Port: 9001, User: fakeunit.User}}},
		Components: []spec.Component{{
			Name: "load", Type: "toskose.nodes.Task", Host: "backend", Node: "backend", Protocol: protocol.Task(),
			Interfaces: []spec.Interface{{Name: "Task", Operations: []spec.Operation{{
				Name: "run", Script: "run.sh", Inputs: []spec.OperationInput{{Name: spec.TaskIndex, Value: "0"}},
			}}}},
			Task: &task,
		}},
	}
	app, err := manager.New(model, manager.Options{
		Containers: containers, Passwords: fakeunit.PasswordOf, Patience: 100 * time.Millisecond, Backoff: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(app.Close)
	return app
}

// load is how far the task is, and the state that is shown.
func load(t *testing.T, app *manager.App) (*goal.TaskStatus, string) {
	t.Helper()
	c, err := app.Component(t.Context(), "backend", "load", manager.StatesOnly)
	if err != nil || c.Task == nil {
		t.Fatalf("%+v, %v", c, err)
	}
	return c.Task, c.State
}

func TestATaskRunsOnRealUnits(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the unit")
	}
	t.Parallel()
	units := []netip.AddrPort{testunit.Run(t, fakeunit.Password, testunit.Task).Addr, testunit.Run(t, fakeunit.Password, testunit.Task).Addr}
	app := loading(t, units...)
	f := &taskFollower{next: app.Events("")}
	if st := f.read(t); st.Phase != goal.TaskWaiting || f.told[0].Component != "load" || f.told[0].Node != "backend" {
		t.Errorf("at the beginning is told %+v", f.told)
	}
	if _, kept, err := app.RunTask(t.Context(), "load", false, "jo"); err != nil || !kept {
		t.Fatalf("kept %v, %v", kept, err)
	}
	awaitGoal(t, app, "reached", func(g rest.Goal) bool {
		if st, state := load(t, app); (state == protocol.Completed) != (st.Completed == 3) {
			t.Fatalf("it is shown as %s when %d of 3 are completed", state, st.Completed)
		}
		return g.Done
	})
	st, _ := load(t, app)
	for i, attempts := range []int{1, 3, 1} {
		x := st.Indexes[i]
		if x.Phase != goal.TaskCompleted || x.Attempts != attempts || *x.ExitCode != 0 {
			t.Errorf("index %d: %+v", i, x)
		}
		run, err := app.Execution(t.Context(), x.Execution, 0)
		if want := "part " + string(rune('0'+i)) + " of 3\n"; err != nil || run.Runs[0].Stdout != want {
			t.Errorf("index %d printed %+v, %v", i, run.Runs, err)
		}
	}
	f.follow(t, app)
	one := 1
	if past, err := app.History(t.Context(), rest.HistoryQuery{Component: "load", Operation: "run", Index: &one, Limit: 10}); err != nil || len(past.Executions) != 3 || past.Executions[0].Part.Attempt != 3 {
		t.Errorf("of index 1 was executed %+v, %v", past, err)
	}
	if st.Indexes[0].Instance != st.Indexes[2].Instance || st.Indexes[0].Instance == st.Indexes[1].Instance {
		t.Errorf("indexes ran at %+v", st.Indexes)
	}
	view, _, err := app.RunTask(t.Context(), "load", true, "jo")
	if err != nil || view.Tasks["load"].Round != 1 {
		t.Fatalf("again: %+v, %v", view, err)
	}
	awaitGoal(t, app, "reached again", func(g rest.Goal) bool {
		st, _ := load(t, app)
		return g.Done && st.Round == 1 && st.Completed == 3
	})
	if st, _ := load(t, app); st.Indexes[1].Attempts != 1 {
		t.Errorf("the second round begins with the attempts of the first: %+v", st.Indexes)
	}
}

// taskFollower is who follows the events of tasks.
type taskFollower struct {
	next func(context.Context) ([]manager.Event, error)
	told []manager.Event
}

// read waits for the next, and returns the status that the last has.
func (f *taskFollower) read(t *testing.T) *goal.TaskStatus {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for before := len(f.told); len(f.told) == before; {
		events, err := f.next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if e.Kind == mirror.EventTask {
				f.told = append(f.told, e)
			}
		}
	}
	return taskOf(t, f.told[len(f.told)-1])
}

// taskOf returns the status in an event.
func taskOf(t *testing.T, e manager.Event) *goal.TaskStatus {
	t.Helper()
	var st goal.TaskStatus
	if err := json.Unmarshal(e.Task, &st); err != nil {
		t.Fatal(err)
	}
	return &st
}

// follow reads until the task is completed, and goes on from the first event.
func (f *taskFollower) follow(t *testing.T, app *manager.App) {
	t.Helper()
	for f.read(t).Completed < 3 {
		continue
	}
	completed := 0
	for _, e := range f.told {
		st := taskOf(t, e)
		if st.Completed < completed {
			t.Errorf("after %d are told %d", completed, st.Completed)
		}
		completed = st.Completed
	}
	again, missed := &taskFollower{next: app.Events(f.told[0].ID)}, f.told[1:]
	for again.read(t).Completed < 3 {
		continue
	}
	if told := again.told; len(told) < len(missed) || told[0].ID != missed[0].ID || !bytes.Equal(told[0].Task, missed[0].Task) {
		t.Errorf("who comes back is told %+v, not %+v", told, missed)
	}
	now, err := app.Events("")(t.Context())
	last := now[len(now)-1]
	if err != nil || last.Kind != mirror.EventTask || taskOf(t, last).Completed != 3 {
		t.Errorf("who comes later is told %+v, %v", now, err)
	}
}

func TestAPersonRunsOneIndexOfATaskOnTheReplicaThatItIsFor(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the unit")
	}
	t.Parallel()
	units := []netip.AddrPort{testunit.Run(t, fakeunit.Password, testunit.Task).Addr, testunit.Run(t, fakeunit.Password, testunit.Task).Addr}
	slices.SortFunc(units, netip.AddrPort.Compare) // as replicas are numbered
	app := loading(t, units...)
	request := rest.RunRequest{Node: "backend", Component: "load", Operation: "run", By: "jo"}
	for index, what := range map[string]string{"none": "and is missing", "": `and not ""`, "3": `and not "3"`, "-1": `and not "-1"`, "x": `and not "x"`} {
		req := request
		if index != "none" {
			req.Inputs = map[string]string{"TASK_INDEX": index}
		}
		want := "the input TASK_INDEX is the index to run, from 0 to 2, " + what + "; `toskose run load`, or POST /api/v1/app/tasks/load/run, runs all of them"
		if _, err := app.Start(t.Context(), req); !errors.Is(err, rest.ErrInvalid) || err.Error() != want {
			t.Errorf("index %q: %v", index, err)
		}
	}
	request.Inputs = map[string]string{"TASK_INDEX": "2"}
	if x, err := run(t, app, request); err != nil || len(x.Runs) != 1 || x.Runs[0].Replica != units[0].String() || x.Runs[0].Stdout != "part 2 of 3\n" {
		t.Fatalf("%+v, %v", x, err)
	}
	st, state := load(t, app)
	if st.Completed != 1 || st.Indexes[2].Phase != goal.TaskCompleted || state == protocol.Completed {
		t.Errorf("%s, %+v", state, st)
	}
	if _, _, err := app.RunTask(t.Context(), "nothing", false, "jo"); !errors.Is(err, rest.ErrUnknownComponent) {
		t.Errorf("a task that there is not: %v", err)
	}
}
