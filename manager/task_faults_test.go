package manager_test

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/toskose/toskose/internal/fakeunit"
	"github.com/toskose/toskose/internal/testunit"
	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

// stuck is a unit with the task load whose index 1 does not end before the unit, but for
// attempts after the first ones.
func stuck(first string) func(folder string, port uint16) []byte {
	return func(folder string, port uint16) []byte {
		return bytes.Replace(testunit.Task(folder, port), []byte("-gt 2 ] || exit 9"), []byte("-gt "+first+" ] || exec tail -f --pid=$PPID /dev/null"), 1)
	}
}

// scaled are replicas of backend that come and go.
type scaled struct {
	fakeunit.Containers
	mu    sync.Mutex
	units []netip.AddrPort
}

func (s *scaled) Replicas(ctx context.Context, _ string, _ int) ([]netip.AddrPort, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fakeunit.Containers{"backend": s.units}.Replicas(ctx, "backend", 0)
}

func (s *scaled) to(units ...netip.AddrPort) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.units = units
}

// ask has all of the task run.
func ask(t *testing.T, app *manager.App, again bool) {
	t.Helper()
	if _, kept, err := app.RunTask(t.Context(), "load", again, "jo"); err != nil || !kept {
		t.Fatalf("kept %v, %v", kept, err)
	}
}

// awaitLoad waits until the task is as it should be.
func awaitLoad(t *testing.T, app *manager.App, should string, is func(*goal.TaskStatus) bool) *goal.TaskStatus {
	t.Helper()
	var st *goal.TaskStatus
	awaitGoal(t, app, should, func(rest.Goal) bool {
		c, err := app.Component(t.Context(), "backend", "load", manager.StatesOnly)
		if err == nil && c.Task != nil {
			st = c.Task
		}
		return st != nil && is(st)
	})
	return st
}

// over reports whether nothing more is done for a task.
func over(st *goal.TaskStatus) bool {
	return st.Phase == goal.TaskCompleted || st.Phase == goal.TaskFailed
}

// tried is how often each index was executed, as the unit's journal has it.
func tried(t *testing.T, app *manager.App) map[int]int {
	t.Helper()
	past, err := app.History(t.Context(), rest.HistoryQuery{Component: "load", Operation: "run", Limit: 500})
	if err != nil {
		t.Fatal(err)
	}
	times := map[int]int{}
	for _, x := range past.Executions {
		times[x.Part.Index]++
	}
	return times
}

func newUnit(t *testing.T, config func(string, uint16) []byte) *testunit.Unit {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and runs the unit")
	}
	t.Parallel()
	return testunit.Run(t, fakeunit.Password, config)
}

func TestATaskFailsOnARealUnitWithAnExitCodeThatIsFinal(t *testing.T) {
	u := newUnit(t, testunit.Task)
	app := loadingAs(t, spec.Task{Completions: 3, Parallelism: 2, BackoffLimit: 3, FailOn: []int{9}}, fakeunit.Containers{"backend": {u.Addr}})
	ask(t, app, false)
	st := awaitLoad(t, app, "over", over)
	if st.Phase != goal.TaskFailed || st.Completed != 2 || st.Failed != 1 || *st.ExitCode != 9 || st.Reason != `index 1 failed with exit code 9; last line: "part 1 of 3"; it is not tried again after this exit code` {
		t.Errorf("%+v", st)
	}
	if n := tried(t, app)[1]; n != 1 {
		t.Errorf("index 1 was tried %d times", n)
	}
}

func TestATaskFailsOnARealUnitWhenItsDeadlinePasses(t *testing.T) {
	u := newUnit(t, stuck("100"))
	app := loadingAs(t, spec.Task{Completions: 3, Parallelism: 2, BackoffLimit: 3, Deadline: 2}, fakeunit.Containers{"backend": {u.Addr}})
	ask(t, app, false)
	st := awaitLoad(t, app, "over", over)
	if st.Phase != goal.TaskFailed || *st.ExitCode != 124 || st.Reason != "its deadline of 2s has passed" || !st.Indexes[1].TimedOut || st.Indexes[1].Execution == "" {
		t.Errorf("%+v", st)
	}
	if n := tried(t, app)[1]; n != 1 {
		t.Errorf("index 1 was tried %d times", n)
	}
}

func TestADeadlineDoesNotPassBeforeThereIsAReplica(t *testing.T) {
	u := newUnit(t, testunit.Task)
	containers := &scaled{}
	app := loadingAs(t, spec.Task{Completions: 1, Parallelism: 1, Deadline: 1}, containers)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // nobody is there to keep the goal
	if _, _, err := app.RunTask(ctx, "load", false, "jo"); !errors.Is(err, rest.ErrUnreachable) {
		t.Fatalf("it is accepted without a replica: %v", err)
	}
	if st, _ := load(t, app); !st.Since.IsZero() {
		t.Errorf("%+v", st)
	}
	containers.to(u.Addr)
	ask(t, app, false)
	if st := awaitLoad(t, app, "over", over); st.Phase != goal.TaskCompleted {
		t.Errorf("%+v", st)
	}
}

func TestATaskOfManyIndexesOnOneRealUnitIsRememberedThroughRounds(t *testing.T) {
	u := newUnit(t, testunit.Task)
	task, containers := spec.Task{Completions: 32, Parallelism: 40, BackoffLimit: 3}, fakeunit.Containers{"backend": {u.Addr}}
	app := loadingAs(t, task, containers)
	for round := range 3 {
		ask(t, app, round > 0)
		if st := awaitLoad(t, app, "over", func(st *goal.TaskStatus) bool { return st.Round == round && over(st) }); st.Phase != goal.TaskCompleted {
			t.Fatalf("round %d: %+v", round, st)
		}
	}
	app.Close()
	app = loadingAs(t, task, containers)
	awaitGoal(t, app, "reached", func(g rest.Goal) bool { return g.Done && g.Acting })
	if st, state := load(t, app); st.Completed != 32 || st.Round != 2 || state != protocol.Completed {
		t.Errorf("to another manager it is %s, %+v", state, st)
	}
	for index, n := range tried(t, app) {
		if want := map[bool]int{true: 5, false: 3}[index == 1]; n > want {
			t.Errorf("index %d was tried %d times, not %d", index, n, want)
		}
	}
}

func TestATaskIsAskedForAgainTwiceAtOnce(t *testing.T) {
	u := newUnit(t, testunit.Task)
	app := loadingAs(t, spec.Task{Completions: 3, Parallelism: 3, BackoffLimit: 3}, fakeunit.Containers{"backend": {u.Addr}})
	ask(t, app, false)
	awaitLoad(t, app, "over", over)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if _, kept, err := app.RunTask(t.Context(), "load", true, "jo"); err != nil || !kept {
				t.Errorf("kept %v, %v", kept, err)
			}
		})
	}
	both.Wait()
	st := awaitLoad(t, app, "over", over)
	if times := tried(t, app); st.Phase != goal.TaskCompleted || st.Round != 2 || times[0] > 3 || times[2] > 3 {
		t.Errorf("%+v after %v", st, times)
	}
}

func TestAManagerThatEndsBetweenAttemptsLeavesTheirNumberToTheNext(t *testing.T) {
	u := newUnit(t, testunit.Task)
	task, containers := spec.Task{Completions: 3, Parallelism: 3, BackoffLimit: 1}, fakeunit.Containers{"backend": {u.Addr}}
	app := loadingAs(t, task, containers)
	ask(t, app, false)
	awaitLoad(t, app, "tried again soon", func(st *goal.TaskStatus) bool { return st.Indexes[1].Phase == goal.TaskRetrying })
	app.Close()
	app = loadingAs(t, task, containers)
	st := awaitLoad(t, app, "over", over)
	if times := tried(t, app); st.Phase != goal.TaskFailed || st.Completed != 2 || *st.ExitCode != 9 || times[1] != 2 || times[0] != 1 {
		t.Errorf("%+v after %v", st, times)
	}
	ask(t, app, false) // and that succeeds at the third attempt
	if st := awaitLoad(t, app, "completed", func(st *goal.TaskStatus) bool { return st.Phase == goal.TaskCompleted }); st.Indexes[1].Attempts != 1 {
		t.Errorf("for the new goal, %+v", st)
	}
}

func TestAContainerThatIsRestartedDuringAnIndexCountsForNothing(t *testing.T) {
	u := newUnit(t, stuck("1"))
	app := loadingAs(t, spec.Task{Completions: 3, Parallelism: 3}, fakeunit.Containers{"backend": {u.Addr}})
	ask(t, app, false)
	awaitLoad(t, app, "running", func(st *goal.TaskStatus) bool {
		tries, err := os.Stat(filepath.Join(u.Folder, "tries-1")) // by which the next attempt knows that there was one
		return err == nil && tries.Size() > 0 && st.Indexes[1].Phase == goal.TaskRunning
	})
	u.Restart()
	st := awaitLoad(t, app, "over", over)
	if times := tried(t, app); st.Phase != goal.TaskCompleted || times[0] != 1 || times[1] != 2 || times[2] != 1 {
		t.Errorf("%+v after %v", st, times)
	}
}

func TestReplicasThatLeaveInTheMiddleLeaveTheirIndexesToTheOthers(t *testing.T) {
	u := newUnit(t, testunit.Task)
	other := testunit.Run(t, fakeunit.Password, stuck("100"))
	containers := &scaled{units: []netip.AddrPort{u.Addr, other.Addr}}
	slices.SortFunc(containers.units, netip.AddrPort.Compare) // as replicas are numbered
	app := loadingAs(t, spec.Task{Completions: 4, Parallelism: 4, BackoffLimit: 3}, containers)
	ask(t, app, false)
	awaitLoad(t, app, "halfway", func(st *goal.TaskStatus) bool { return st.Completed >= 2 })
	other.Kill()
	containers.to(u.Addr)
	st := awaitLoad(t, app, "over", over)
	if st.Phase != goal.TaskCompleted {
		t.Fatalf("%+v", st)
	}
	for _, x := range st.Indexes {
		if x.Replica != u.Addr.String() {
			t.Errorf("index %d ran on %s", x.Index, x.Replica)
		}
	}
}

func TestAGoalThatIsChangedInTheMiddleEndsATask(t *testing.T) {
	u := newUnit(t, stuck("1"))
	app := loadingAs(t, spec.Task{Completions: 3, Parallelism: 1, BackoffLimit: 3}, fakeunit.Containers{"backend": {u.Addr}})
	ask(t, app, false)
	st := awaitLoad(t, app, "running", func(st *goal.TaskStatus) bool { return st.Indexes[1].Phase == goal.TaskRunning })
	if _, kept, err := app.SetGoal(t.Context(), rest.GoalRequest{State: goal.Down}); err != nil || !kept {
		t.Fatalf("kept %v, %v", kept, err)
	}
	if _, err := app.Cancel(t.Context(), st.Indexes[1].Execution); err != nil {
		t.Fatal(err)
	}
	awaitGoal(t, app, "reached", func(g rest.Goal) bool { return g.Done && g.State == goal.Down })
	if st, state := load(t, app); state != protocol.Deleted || st.Completed != 0 || tried(t, app)[2] != 0 {
		t.Errorf("%s, %+v", state, st)
	}
	if _, _, err := app.SetGoal(t.Context(), rest.GoalRequest{State: goal.Up}); err != nil {
		t.Fatal(err)
	}
	if st := awaitLoad(t, app, "over", over); st.Phase != goal.TaskCompleted {
		t.Errorf("%+v", st)
	}
}
