package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/rest"
)

// Application is the source of the metrics.
type Application interface {
	App(ctx context.Context, d manager.Detail) rest.App
	Goal() rest.Goal
}

// standing collects the state of an application at every scrape.
type standing struct{ app Application }

var (
	replicas = prometheus.NewDesc("toskose_replicas",
		"Replicas of a node by state: up, silent (the unit does not respond) or gone (no longer found).", []string{"node", "state"}, nil)
	components = prometheus.NewDesc("toskose_component_replicas",
		"Replicas of a component by its state; unknown if the unit does not respond.", []string{"node", "component", "state"}, nil)
	lacking = prometheus.NewDesc("toskose_component_lacks",
		"Unmet requirements of a component in its state.", []string{"node", "component"}, nil)
	failing = prometheus.NewDesc("toskose_component_failing",
		"Replicas on which a component runs and fails its liveness checks.", []string{"node", "component"}, nil)
	restarts = prometheus.NewDesc("toskose_component_restarts_total",
		"Starts of a component after its processes ended unexpectedly, in its current containers.", []string{"node", "component"}, nil)
	goalStuck = prometheus.NewDesc("toskose_goal_stuck",
		"1 if the goal is not reached and nothing is tried again without a person.", nil, nil)
	taskIndexes = prometheus.NewDesc("toskose_task_indexes",
		"Indexes of a task by their phase: waiting, running, retrying, completed or failed.", []string{"node", "component", "phase"}, nil)
	taskAttempts = prometheus.NewDesc("toskose_task_attempts", "Started attempts of the current runs of a task's indexes.", []string{"node", "component"}, nil)
	goalWanted   = prometheus.NewDesc("toskose_goal_components", "Components on replicas that the goal includes.", nil, nil)
	goalReached  = prometheus.NewDesc("toskose_goal_components_reached", "Components on replicas that have reached the goal.", nil, nil)
	goalDone     = prometheus.NewDesc("toskose_goal_done", "1 if the goal is reached and no operation is running.", nil, nil)
	goalActing   = prometheus.NewDesc("toskose_goal_acting", "0 if the manager only observes, because it does not know the current goal.", nil, nil)
	goalBlocked  = prometheus.NewDesc("toskose_goal_obstacles", "Obstacles to the goal.", nil, nil)
	goalHeld     = prometheus.NewDesc("toskose_goal_holds", "Components on hold, because a user operated them.", nil, nil)
	goalLacking  = prometheus.NewDesc("toskose_goal_lacking_replicas", "Replicas that have not stored the goal yet.", nil, nil)
)

// The states of replicas.
const (
	replicaUp     = "up"
	replicaSilent = "silent"
	replicaGone   = "gone"
)

// Describe sends all descriptions.
func (s standing) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		replicas, components, lacking, failing, restarts, goalStuck, taskIndexes, taskAttempts, goalWanted, goalReached, goalDone, goalActing, goalBlocked, goalHeld, goalLacking,
	} {
		ch <- d
	}
}

// Collect sends the current metrics.
func (s standing) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value int, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value), labels...)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // do not wait for unknown nodes
	app := s.app.App(ctx, manager.StatesOnly)
	for i := range app.Nodes {
		n := &app.Nodes[i]
		count := map[string]int{replicaUp: 0, replicaSilent: 0, replicaGone: 0}
		for j := range n.Replicas {
			count[reached(&n.Replicas[j])]++
		}
		for state, number := range count {
			gauge(replicas, number, n.Name, state)
		}
	}
	for i := range app.Components {
		c := &app.Components[i]
		count := map[string]int{}
		for j := range c.Replicas {
			count[c.Replicas[j].State]++
		}
		for state, number := range count {
			gauge(components, number, c.Node, c.Name, state)
		}
		gauge(lacking, len(c.Lacks), c.Node, c.Name)
		gauge(failing, failingReplicas(c), c.Node, c.Name)
		ch <- prometheus.MustNewConstMetric(restarts, prometheus.CounterValue, float64(c.Restarts), c.Node, c.Name)
		if c.Task == nil {
			continue
		}
		attempts, phases := 0, map[string]int{"waiting": 0, "running": 0, "retrying": 0, "completed": 0, "failed": 0}
		for _, x := range c.Task.Indexes {
			phases[string(x.Phase)]++
			attempts += x.Attempts
		}
		for phase, number := range phases {
			gauge(taskIndexes, number, c.Node, c.Name, phase)
		}
		gauge(taskAttempts, attempts, c.Node, c.Name)
	}
	g := s.app.Goal()
	gauge(goalWanted, g.Wanted)
	gauge(goalReached, g.Reached)
	gauge(goalDone, number(g.Done))
	gauge(goalStuck, number(g.Stuck))
	gauge(goalActing, number(g.Acting))
	gauge(goalBlocked, len(g.Obstacles))
	gauge(goalHeld, len(g.Holds))
	gauge(goalLacking, len(g.Lacking))
}

func reached(r *rest.Replica) string {
	switch {
	case !r.Gone.IsZero():
		return replicaGone
	case r.Problem != "":
		return replicaSilent
	}
	return replicaUp
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

func failingReplicas(c *rest.Component) (n int) {
	for i := range c.Replicas {
		if c.Replicas[i].Failing != nil {
			n++
		}
	}
	return n
}
