package manager

import (
	"context"
	"time"

	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/series"
)

// Series returns the numbers of components over time: of all components together, and of the ones for which wanted
// returns true.
func (a *App) Series(from time.Time, wanted func(component string) bool) series.Window {
	return a.series.Since(from, wanted)
}

// sampleSeries samples all components at an interval.
func (a *App) sampleSeries(every time.Duration) func(context.Context) {
	return func(life context.Context) {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-life.Done():
				return
			case <-tick.C:
			}
			if nodes := a.Nodes(life, WithProcesses); life.Err() == nil {
				a.series.Add(time.Now(), valuesOf(nodes))
			}
		}
	}
}

// valuesOf returns the current numbers of each component, summed over its replicas.
func valuesOf(nodes []rest.Node) []series.Value {
	var all []series.Value
	for i := range nodes {
		for _, c := range nodes[i].Components {
			v := series.Value{Component: c.Name, State: c.State, Restarts: c.Restarts}
			for _, r := range c.Replicas {
				for _, p := range r.Processes {
					v.Processes++
					v.CPU += p.CPU
					v.Memory += p.Memory
				}
			}
			all = append(all, v)
		}
	}
	return all
}
