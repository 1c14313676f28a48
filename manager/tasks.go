package manager

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/mirror"
)

// tellTasks publishes an event whenever the progress of a Task changes.
func (a *App) tellTasks(life context.Context) {
	told := map[string]*goal.TaskStatus{}
	a.fleet.Complete(life)
	for life.Err() == nil {
		began, decided, now := time.Now(), a.keeper.Changed(), a.fleet.Snapshot()
		tasks := a.rules.At(now).Tasks()
		for _, name := range slices.Sorted(maps.Keys(tasks)) {
			status := tasks[name]
			if told[name] == status {
				continue
			}
			told[name] = status
			a.fleet.Tell(mirror.Event{
				Kind: mirror.EventTask, Time: began, Node: a.Goals.model.Node[name], Component: name, Why: status.Reason, Task: status,
			})
		}
		rest := time.NewTimer(min(time.Since(began), 100*time.Millisecond)) // uses at most half of a core
		select {
		case <-rest.C:
		case <-life.Done():
		}
		select {
		case <-now.Superseded():
		case <-decided:
		case <-life.Done():
		}
	}
}
