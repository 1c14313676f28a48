package manager

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/toskose/toskose/internal/sleep"
	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/mirror"
)

// publishTasks publishes an event whenever the progress of a Task changes.
func (a *App) publishTasks(life context.Context) {
	published := map[string]*goal.TaskStatus{}
	a.fleet.Complete(life)
	for life.Err() == nil {
		began, decided, now := time.Now(), a.keeper.Changed(), a.fleet.Snapshot()
		tasks := a.rules.At(now).Tasks()
		for _, name := range slices.Sorted(maps.Keys(tasks)) {
			status := tasks[name]
			if published[name] == status {
				continue
			}
			published[name] = status
			text, err := json.Marshal(status)
			if err != nil {
				panic(err) // it always encodes
			}
			a.fleet.Publish(mirror.Event{
				Kind: mirror.EventTask, Time: began, Node: a.Goals.model.Node[name], Component: name, Why: status.Reason, Task: text,
			})
		}
		_ = sleep.For(life, min(time.Since(began), 100*time.Millisecond)) // uses at most half of a core
		select {
		case <-now.Superseded():
		case <-decided:
		case <-life.Done():
		}
	}
}
