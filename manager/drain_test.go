package manager_test

import (
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/internal/fakeunit"
	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/rest"
)

// refusals passes on what is logged of the goal's operations that were refused.
type refusals struct{ io.Writer }

func (r refusals) Write(line []byte) (int, error) {
	if strings.Contains(string(line), "is drained") {
		_, _ = r.Writer.Write(line)
	}
	return len(line), nil
}

// drained drains backend until it is as it should be.
func drained(t *testing.T, app *manager.App, should func(rest.Drain) bool) rest.Drain {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		now, err := app.Drain(t.Context(), "backend", time.Hour)
		if err == nil && should(now) {
			return now
		}
		if time.Now().After(deadline) {
			t.Fatalf("drained is %+v, %v", now, err)
		}
	}
}

// TestADrainedNodeLosesNothing: what runs ends, what people ask for waits for the container
// that takes the place of the one before, and the goal has it come up meanwhile.
func TestADrainedNodeLosesNothing(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	u := fakeunit.Backend("i1", nil, fakeunit.End{Target: "started"})
	u.Operations["api"]["api_interface.push_default"] = fakeunit.Operation{From: []string{"configured"}, Hold: hold, End: fakeunit.End{Target: "configured"}}
	read, write := io.Pipe()
	defer write.Close()
	app := application(t, fakeunit.Containers{"backend": {u.Start(t, configured)}}, manager.Options{Logger: slog.New(slog.NewTextHandler(refusals{write}, nil))})
	push := rest.RunRequest{Node: "backend", Component: "api", Operation: "api_interface.push_default", By: "ann"}
	running, err := app.Start(t.Context(), push)
	if err != nil {
		t.Fatal(err)
	}
	now := drained(t, app, func(rest.Drain) bool { return true })
	if now.Empty || len(now.Underway) != 1 || now.Underway[0].Execution != running.ID || !slices.Equal(now.Instances, []string{"i1"}) {
		t.Errorf("while an operation runs: %+v", now)
	}
	close(hold)
	if x, err := app.Wait(t.Context(), running.ID); err != nil || x.Err() != nil {
		t.Errorf("what ran has ended with %+v, %v", x, err)
	}
	drained(t, app, func(d rest.Drain) bool { return d.Empty })

	type answer struct {
		x   rest.Execution
		err error
	}
	asked := make(chan answer, 1)
	go func() {
		x, err := run(t, app, push)
		asked <- answer{x, err}
	}()
	if _, _, err := app.SetGoal(t.Context(), rest.GoalRequest{States: map[string]string{"api": "configured"}}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := app.SetGoal(t.Context(), rest.GoalRequest{States: map[string]string{"api": "started"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := read.Read(make([]byte, 1)); err != nil { // the goal's start is refused
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, read) }()
	if ran := u.Executed(); len(ran) != 1 {
		t.Errorf("on a drained container ran %q", ran)
	}
	if _, _, err := app.SetGoal(t.Context(), rest.GoalRequest{States: map[string]string{"api": "configured"}}); err != nil {
		t.Fatal(err)
	}
	u.Replace("i2", map[string]string{"api": "created"})
	awaitGoal(t, app, "reached on the new container", done)
	if now := drained(t, app, func(d rest.Drain) bool { return d.Empty }); !slices.Equal(now.Instances, []string{"i1"}) {
		t.Errorf("the new container is drained, too: %+v", now)
	}
	select {
	case got := <-asked:
		t.Fatalf("it did not wait: %+v, %v", got.x, got.err)
	default:
	}
	if err := app.EndDrain("backend"); err != nil {
		t.Fatal(err)
	}
	if got := <-asked; got.err != nil || got.x.Runs[0].Instance != "i2" {
		t.Errorf("what waited: %+v, %v", got.x, got.err)
	}
	if ran := u.Executed(); !slices.Equal(ran, []string{"api:api_interface.push_default", "api:Standard.configure", "api:api_interface.push_default"}) {
		t.Errorf("ran %q", ran)
	}
}

// TestWhatRequiresADrainedNodeWaits: what its container offers is only away for a while.
func TestWhatRequiresADrainedNodeWaits(t *testing.T) {
	t.Parallel()
	app, api, _ := withGUI(t)
	start := rest.RunRequest{Node: "frontend", Component: "gui", Operation: "Standard.start"}
	drained(t, app, func(d rest.Drain) bool { return d.Empty })
	api.Replace("i3", configured)
	asked := make(chan error, 1)
	go func() {
		_, err := run(t, app, start)
		asked <- err
	}()
	api.Replace("i4", map[string]string{"api": "started"})
	for { // until that is known: what waits for the end of the drain looks again once
		of, err := app.Component(t.Context(), "backend", "api", manager.StatesOnly)
		if err == nil && of.State == "started" {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := app.EndDrain("backend"); err != nil {
		t.Fatal(err)
	}
	if err := <-asked; err != nil {
		t.Errorf("it was refused: %v", err)
	}
}

// TestADrainEndsByItself: who asked for it may be gone.
func TestADrainEndsByItself(t *testing.T) {
	t.Parallel()
	u := fakeunit.Backend("i1", nil, fakeunit.End{Target: "started"})
	app := application(t, fakeunit.Containers{"backend": {u.Start(t, configured)}}, manager.Options{})
	if _, err := app.Drain(t.Context(), "backend", time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, app, startAPI); err != nil {
		t.Error(err)
	}
	if _, err := app.Drain(t.Context(), "nowhere", time.Hour); !errors.Is(err, rest.ErrUnknownNode) {
		t.Errorf("a node that is not there: %v", err)
	}
	drained(t, app, func(d rest.Drain) bool { return d.Empty })
	asked := make(chan error, 1)
	go func() {
		_, err := app.Start(t.Context(), startAPI)
		asked <- err
	}()
	app.Close()
	if err := <-asked; !errors.Is(err, rest.ErrUnavailable) {
		t.Errorf("when the manager ends: %v", err)
	}
}
