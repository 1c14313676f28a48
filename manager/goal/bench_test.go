package goal_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/spec/protocol"
)

// large is an application of components on containers with ten each, of which
// each connects to one of the container before, so that goals take long chains.
func large(components int) *goal.Model {
	m := goal.Model{Node: map[string]string{}}
	for i := range components {
		node := fmt.Sprintf("n%d", i/10)
		if i%10 == 0 {
			m.Elements = append(m.Elements, plan.Element{Name: node, Protocol: protocol.Container().Hosting()})
		}
		e := plan.Element{Name: fmt.Sprintf("c%d", i), Protocol: protocol.Software()}
		for _, requirement := range []string{protocol.Host, protocol.Alive} {
			e.Bindings = append(e.Bindings, plan.Binding{Requirement: requirement, Target: node, Capability: requirement})
		}
		if before := i - 10; before >= 0 && i/10%10 != 0 {
			e.Bindings = append(e.Bindings, plan.Binding{Requirement: protocol.Connection, Target: fmt.Sprintf("c%d", before), Capability: protocol.Endpoint})
		}
		m.Node[e.Name] = node
		m.Elements = append(m.Elements, e)
	}
	return goal.NewModel(m)
}

// BenchmarkGoal drives applications up whose operations take 50 to 150 ms. The time
// that each decision takes passes for them, too; what it takes in all is told beside
// the longest chain of operations.
func BenchmarkGoal(b *testing.B) {
	for _, components := range []int{10, 100, 1000} {
		for _, along := range []bool{true, false} {
			b.Run(fmt.Sprintf("%d/along=%t", components, along), func(b *testing.B) {
				m := large(components)
				var ratios, longest float64
				decisions := 0
				for b.Loop() {
					d := &drive{world: newLarge(b, m, along), ends: map[place]time.Time{}, took: map[string]time.Duration{}}
					begun := d.s.Now
					d.run()
					decisions += d.decisions
					longest = max(longest, d.longest.Seconds())
					ratios += d.s.Now.Sub(begun).Seconds() / d.critical().Seconds()
				}
				b.ReportMetric(b.Elapsed().Seconds()*1000/float64(decisions), "ms/decision")
				b.ReportMetric(longest*1000, "ms-longest")
				b.ReportMetric(ratios/float64(b.N), "x-critical-path")
			})
		}
	}
}

func newLarge(t testing.TB, m *goal.Model, along bool) *world {
	w := &world{t: t, along: along, r: rand.New(rand.NewPCG(1, 1)), m: m, ids: map[string]bool{}}
	w.s.Now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, e := range m.Elements {
		if m.Node[e.Name] == "" {
			w.s.Replicas = append(w.s.Replicas, w.replica(e.Name))
		}
	}
	w.goal(goal.Up, nil)
	return w
}

type place struct {
	replica   int
	component string
}

// drive is a world in which operations end by themselves.
type drive struct {
	*world
	ends      map[place]time.Time      // of what is under way
	took      map[string]time.Duration // by component:operation
	decisions int
	longest   time.Duration
}

func (d *drive) run() {
	for {
		begun := time.Now()
		d.last = d.think()
		thought, made := time.Since(begun), d.last
		d.s.Now = d.s.Now.Add(2 * thought) // a Keeper rests as long as it has thought
		d.decisions, d.longest = d.decisions+1, max(d.longest, thought)
		for _, step := range made.Steps {
			took := time.Duration(50+d.r.IntN(100)) * time.Millisecond
			at := place{d.at(step.Instance), step.Component}
			d.begin(at.replica, step.Component, step.ID, "goal", step.Operation)
			d.ends[at], d.took[step.Component+":"+step.Operation.Name] = d.s.Now.Add(took), took
		}
		if len(d.ends) == 0 {
			if !made.Done() {
				d.t.Fatalf("%d of %d, %+v", made.Reached, made.Wanted, made.Obstacles)
			}
			return
		}
		next := time.Time{}
		for _, at := range d.ends {
			if next.IsZero() || at.Before(next) {
				next = at
			}
		}
		if next.After(d.s.Now) {
			d.s.Now = next
		}
		for at, ends := range d.ends {
			if ends.After(d.s.Now) {
				continue
			}
			c := d.s.Replicas[at.replica].Components[at.component]
			step, _ := d.element(at.component).Protocol.Next(c.State, c.Executing.Operation, c.Open, d.implemented(at.component))
			d.end(underWay{at.replica, at.component, step}, true)
			delete(d.ends, at)
		}
	}
}

// critical returns how long the longest chain of operations took.
func (d *drive) critical() (longest time.Duration) {
	running := map[string]time.Duration{}
	for _, e := range d.m.Elements {
		if d.m.Node[e.Name] == "" {
			continue
		}
		ready := d.took[e.Name+":create"] + d.took[e.Name+":configure"]
		for _, b := range e.Bindings {
			ready = max(ready, running[b.Target])
		}
		running[e.Name] = ready + d.took[e.Name+":start"]
		longest = max(longest, running[e.Name])
	}
	return longest
}
