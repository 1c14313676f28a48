package goal_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/wire"
)

// The situations of this table are of one application: api on the container
// backend, plugin on api, and gui on the container frontend, which connects to api.
const (
	created    = protocol.Created
	configured = protocol.Configured
	deleted    = protocol.Deleted
	running    = protocol.Running
)

var (
	now   = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	asked = wire.Revision{Counter: 5, ID: "x"}
)

// ours is the id of an execution that the goal asked for.
const ours = "goal-5-x-0"

func software(name, host string, uses ...string) plan.Element {
	e := plan.Element{Name: name, Protocol: protocol.Software(), Bindings: []plan.Binding{
		{Requirement: protocol.Host, Target: host, Capability: protocol.Host},
		{Requirement: protocol.Alive, Target: host, Capability: protocol.Alive},
	}}
	for _, other := range uses {
		e.Bindings = append(e.Bindings, plan.Binding{Requirement: protocol.Connection, Target: other, Capability: protocol.Endpoint})
	}
	return e
}

func small() goal.Model {
	return goal.Model{
		Elements: []plan.Element{
			software("api", "backend"),
			software("plugin", "api"),
			software("gui", "frontend", "api"),
			{Name: "backend", Protocol: protocol.Container().Hosting()},
			{Name: "frontend", Protocol: protocol.Container().Hosting()},
		},
		Node:     map[string]string{"api": "backend", "plugin": "backend", "gui": "frontend"},
		Policies: map[string]goal.Policy{},
	}
}

// on is a replica with components by name.
func on(node, instance string, components ...named) goal.Replica {
	r := goal.Replica{Node: node, Name: instance, Instance: instance, Components: map[string]goal.Component{}}
	for _, c := range components {
		r.Components[c.name] = c.Component
	}
	return r
}

// away is a replica that must not be operated.
func away(r goal.Replica, problem string, unknown bool) goal.Replica {
	r.Problem, r.Unknown = problem, unknown
	return r
}

type named struct {
	name string
	goal.Component
}

// at is a component in a state, after executions.
func at(name, state string, runs ...goal.Run) named {
	c := goal.Component{State: state, Open: state == running, Runs: runs}
	for i := range runs {
		c.Seq = max(c.Seq, runs[i].Seq)
	}
	return named{name, c}
}

// busy is a component that executes an operation.
func busy(name, state, operation string) named {
	c := at(name, state)
	c.Executing = &goal.Run{ID: ours, Operation: standard(operation), From: state}
	return c
}

func standard(name string) protocol.Operation {
	return protocol.Operation{Interface: protocol.Standard, Name: name}
}

type change func(*goal.Run)

// ran is an execution by the goal that succeeded an hour ago, but for changes.
func ran(operation, from, to string, changes ...change) goal.Run {
	r := goal.Run{ID: ours, Operation: standard(operation), From: from, To: to, Started: ago(time.Hour), Ended: ago(time.Hour), Seq: 1}
	for _, c := range changes {
		c(&r)
	}
	return r
}

func ago(d time.Duration) time.Time { return now.Add(-d) }

func failed(r *goal.Run)    { r.Failed, r.To = true, r.From }
func cancelled(r *goal.Run) { r.Cancelled, r.To = true, r.From }
func stopped(r *goal.Run)   { r.Stopped = true }

func by(person string) change { return func(r *goal.Run) { r.ID, r.By = "7f3e", person } }
func id(id string) change     { return func(r *goal.Run) { r.ID = id } }
func seq(n uint64) change     { return func(r *goal.Run) { r.Seq = n } }

func ended(before time.Duration) change {
	return func(r *goal.Run) { r.Started, r.Ended = ago(before), ago(before) }
}

func died(before time.Duration) change { return func(r *goal.Run) { r.Gone = ago(before) } }

func withContainer(r *goal.Run) { r.Container = true }

func start(changes ...change) goal.Run { return ran("start", configured, running, changes...) }

func policy(component string, p goal.Policy) func(*goal.Model) {
	return func(m *goal.Model) { m.Policies[component] = p }
}

// failing is a component that fails its liveness checks.
func failing(c named) named {
	c.Failing = true
	return c
}

// live lets gui require that api is live.
func live(m *goal.Model) {
	for i := range m.Elements[2].Bindings {
		b := &m.Elements[2].Bindings[i]
		b.Live = b.Requirement == protocol.Connection
	}
}

// safe gives api another state that it runs in.
func safe(m *goal.Model) {
	p := &m.Elements[0].Protocol
	state, _ := p.State(running)
	state.Name = "safe"
	p.States = append(p.States, state)
	p.Transitions = append(p.Transitions,
		protocol.Transition{Source: configured, Target: "safe", Operation: protocol.Operation{Interface: "own", Name: "start"}, Requires: []string{protocol.Host}},
		protocol.Transition{Source: "safe", Target: configured, Operation: standard("stop"), Requires: []string{protocol.Host}},
	)
}

var decisions = []struct {
	name      string
	model     func(*goal.Model)
	all       string // the goal of all components; empty: up
	states    map[string]string
	holds     map[string]goal.Hold
	replicas  []goal.Replica
	steps     []string      // INSTANCE COMPONENT OPERATION, in any order
	obstacles []string      // parts of reasons, one for each
	held      []string      // COMPONENT by PERSON
	resumed   []string      // COMPONENT by PERSON
	notes     []string      // parts of notes
	wake      time.Duration // from now; 0: not at all
	reached   string        // of how many components; empty: whatever
}{
	{
		name:     "what does not wait for anything is begun at once",
		replicas: []goal.Replica{on("backend", "b1", at("api", deleted), at("plugin", deleted)), on("frontend", "f1", at("gui", deleted))},
		steps:    []string{"b1 api create", "f1 gui create"},
	},
	{
		name:     "a start waits for what it requires, and for nothing else",
		replicas: []goal.Replica{on("backend", "b1", at("api", configured), at("plugin", deleted)), on("frontend", "f1", at("gui", configured))},
		steps:    []string{"b1 api start"},
	},
	{
		name:     "it is made when that is there",
		replicas: []goal.Replica{on("backend", "b1", at("api", running), at("plugin", running)), on("frontend", "f1", at("gui", configured))},
		steps:    []string{"f1 gui start"},
	},
	{
		name:     "down goes the other way",
		all:      goal.Down,
		replicas: []goal.Replica{on("backend", "b1", at("api", running), at("plugin", running)), on("frontend", "f1", at("gui", running))},
		steps:    []string{"b1 plugin stop", "f1 gui stop"},
	},
	{
		name:     "while an operation is under way its component has no other",
		states:   map[string]string{"api": goal.Up, "gui": configured},
		replicas: []goal.Replica{on("backend", "b1", busy("api", created, "configure")), on("frontend", "f1", at("gui", created))},
		steps:    []string{"f1 gui configure"},
	},
	{
		name:   "dependents wait for all replicas of a provider",
		states: map[string]string{"gui": goal.Up},
		replicas: []goal.Replica{
			on("backend", "b1", at("api", running)), on("backend", "b2", at("api", configured)), on("frontend", "f1", at("gui", configured)),
		},
		steps: []string{"b2 api start"},
	},
	{
		name:   "but not for one where something fails",
		states: map[string]string{"gui": goal.Up},
		replicas: []goal.Replica{
			on("backend", "b1", at("api", running)),
			on("backend", "b2", at("api", configured, start(failed, ended(2*time.Second)), start(failed, ended(time.Second/2), seq(2)))),
			on("frontend", "f1", at("gui", configured)),
		},
		steps:     []string{"f1 gui start"},
		obstacles: []string{"start failed (2nd try)"},
		wake:      time.Second / 2,
	},
	{
		name:     "a new replica is brought to the goal",
		states:   map[string]string{"api": goal.Up},
		replicas: []goal.Replica{on("backend", "b1", at("api", running)), on("backend", "b2", at("api", deleted))},
		steps:    []string{"b2 api create"},
	},
	{
		name:     "what has died once is started at once",
		states:   map[string]string{"api": goal.Up},
		replicas: []goal.Replica{on("backend", "b1", at("api", configured, start(ended(time.Second), died(0))))},
		steps:    []string{"b1 api start"},
	},
	{
		name:   "the third restart waits two seconds from the death before",
		states: map[string]string{"api": goal.Up},
		replicas: []goal.Replica{on("backend", "b1", at("api", configured,
			start(ended(9*time.Second), died(8*time.Second)), start(ended(8*time.Second), died(7*time.Second)), start(ended(6*time.Second), died(time.Second)),
		))},
		obstacles: []string{"start failed (3rd try)"},
		wake:      time.Second,
	},
	{
		name:   "no wait is longer than the longest",
		model:  policy("api", goal.Policy{MaxDelay: 3 * time.Second}),
		states: map[string]string{"api": goal.Up},
		replicas: []goal.Replica{on("backend", "b1", at("api", configured, slices.Repeat([]goal.Run{
			start(failed, ended(time.Second)),
		}, 16)...))},
		obstacles: []string{"start failed (16th try or later)"},
		wake:      2 * time.Second,
	},
	{
		name:   "what was stable begins from the first restart again",
		states: map[string]string{"api": goal.Up},
		replicas: []goal.Replica{on("backend", "b1", at("api", configured,
			start(failed, ended(4*time.Minute)), start(failed, ended(3*time.Minute)), start(ended(2*time.Minute), died(time.Second)),
		))},
		steps: []string{"b1 api start"},
	},
	{
		name:   "and what was not does not",
		model:  policy("api", goal.Policy{Stable: 5 * time.Minute}),
		states: map[string]string{"api": goal.Up},
		replicas: []goal.Replica{on("backend", "b1", at("api", configured,
			start(failed, ended(4*time.Minute)), start(failed, ended(3*time.Minute)), start(ended(2*time.Minute), died(time.Second)),
		))},
		obstacles: []string{"start failed (3rd try)"},
		wake:      time.Second,
	},
	{
		name:   "a start that ended with its container has not failed",
		states: map[string]string{"api": goal.Up},
		replicas: []goal.Replica{on("backend", "b1", at("api", configured,
			start(ended(30*time.Second), died(25*time.Second), withContainer), start(ended(20*time.Second), died(15*time.Second), withContainer),
			start(ended(10*time.Second), died(time.Second), withContainer),
		))},
		steps: []string{"b1 api start"},
	},
	{
		name:   "nor makes it well what failed before",
		states: map[string]string{"api": goal.Up},
		replicas: []goal.Replica{on("backend", "b1", at("api", configured,
			start(failed, ended(30*time.Second)), start(failed, ended(20*time.Second)), start(failed, ended(time.Second)),
			start(ended(time.Second), died(0), withContainer),
		))},
		obstacles: []string{"start failed (3rd try)"},
		wake:      time.Second,
	},
	{
		name:   "unless it was stable",
		states: map[string]string{"api": goal.Up},
		replicas: []goal.Replica{on("backend", "b1", at("api", configured,
			start(failed, ended(4*time.Minute)), start(failed, ended(3*time.Minute)), start(ended(2*time.Minute), died(time.Second), withContainer),
		))},
		steps: []string{"b1 api start"},
	},
	{
		name:   "operations that neither start nor stop are tried three times",
		states: map[string]string{"api": goal.Up},
		replicas: []goal.Replica{on("backend", "b1", at("api", created, slices.Repeat([]goal.Run{
			ran("configure", created, configured, failed),
		}, 3)...))},
		obstacles: []string{"configure failed (3rd try); it is not tried again for this goal"},
	},
	{
		name:   "another goal tries them again",
		states: map[string]string{"api": goal.Up},
		replicas: []goal.Replica{on("backend", "b1", at("api", created, slices.Repeat([]goal.Run{
			ran("configure", created, configured, failed, id("goal-4-w-0")),
		}, 3)...))},
		steps: []string{"b1 api configure"},
	},
	{
		name:     "attempts: 1 is once",
		model:    policy("api", goal.Policy{Attempts: map[protocol.Operation]int{standard("configure"): 1}}),
		states:   map[string]string{"api": goal.Up},
		replicas: []goal.Replica{on("backend", "b1", at("api", created, ran("configure", created, configured, failed)))},
		obstacles: []string{
			"configure failed; it is not tried again",
		},
	},
	{
		name:   "what somebody cancelled neither failed nor succeeded",
		model:  policy("api", goal.Policy{Attempts: map[protocol.Operation]int{standard("configure"): 2}}),
		states: map[string]string{"api": goal.Up},
		replicas: []goal.Replica{
			on("backend", "b1", at("api", created, ran("configure", created, configured, failed), ran("configure", created, configured, cancelled))),
			on("backend", "b2", at("api", created, slices.Repeat([]goal.Run{
				ran("configure", created, configured, failed), ran("configure", created, configured, cancelled),
			}, 2)...)),
		},
		steps:     []string{"b1 api configure"},
		obstacles: []string{"configure failed (2nd try); it is not tried again"},
	},
	{
		name:     "who leads a component away puts it on hold",
		states:   map[string]string{"api": goal.Up},
		replicas: []goal.Replica{on("backend", "b1", at("api", configured, ran("stop", running, configured, by("jo"), ended(time.Second))))},
		held:     []string{"api by jo"},
		obstacles: []string{
			"on hold: jo asked for Standard.stop",
		},
	},
	{
		name:     "not who did so before the goal was set",
		states:   map[string]string{"api": goal.Up},
		replicas: []goal.Replica{on("backend", "b1", at("api", configured, ran("stop", running, configured, by("jo"), ended(3*time.Hour))))},
		steps:    []string{"b1 api start"},
	},
	{
		name:     "nor who leads it nearer",
		states:   map[string]string{"api": goal.Up},
		replicas: []goal.Replica{on("backend", "b1", at("api", configured, ran("configure", created, configured, by("jo"), ended(time.Second))))},
		steps:    []string{"b1 api start"},
	},
	{
		name:      "so does who stops its processes",
		states:    map[string]string{"api": goal.Up},
		replicas:  []goal.Replica{on("backend", "b1", at("api", configured, start(stopped, died(time.Second))))},
		held:      []string{"api by "},
		obstacles: []string{"on hold: an unknown user asked for the end of its processes"},
	},
	{
		name:      "what is on hold is left alone, and what needs it waits",
		states:    map[string]string{"gui": goal.Up},
		holds:     map[string]goal.Hold{"api": {By: "jo", Operation: "Standard.stop"}},
		replicas:  []goal.Replica{on("backend", "b1", at("api", configured)), on("frontend", "f1", at("gui", configured))},
		obstacles: []string{"on hold: jo asked for Standard.stop", `"gui"`},
		reached:   "0 of 1",
	},
	{
		name:      "nor does it count",
		holds:     map[string]goal.Hold{"api": {By: "jo", Operation: "Standard.stop"}},
		states:    map[string]string{"api": goal.Up},
		replicas:  []goal.Replica{on("backend", "b1", at("api", configured))},
		obstacles: []string{"on hold: jo asked for Standard.stop"},
		reached:   "0 of 0",
	},
	{
		name:     "a hold ends when a person has led the component back",
		states:   map[string]string{"api": goal.Up},
		holds:    map[string]goal.Hold{"api": {By: "jo", At: ago(time.Minute)}},
		replicas: []goal.Replica{on("backend", "b1", at("api", running, start(by("ann"), ended(time.Second))))},
		resumed:  []string{"api by ann"},
		reached:  "1 of 1",
	},
	{
		name:   "not before it is so on all replicas",
		states: map[string]string{"api": goal.Up},
		holds:  map[string]goal.Hold{"api": {By: "jo", At: ago(time.Minute), Operation: "Standard.stop"}},
		replicas: []goal.Replica{
			on("backend", "b1", at("api", running, start(by("ann"), ended(time.Second)))), on("backend", "b2", at("api", configured)),
		},
		obstacles: []string{"on hold: jo asked for Standard.stop"},
	},
	{
		name:      "nor by what was done before",
		states:    map[string]string{"api": goal.Up},
		holds:     map[string]goal.Hold{"api": {By: "jo", At: ago(time.Minute), Operation: "Standard.stop"}},
		replicas:  []goal.Replica{on("backend", "b1", at("api", running, start(by("ann"), ended(time.Hour))))},
		obstacles: []string{"on hold: jo asked for Standard.stop"},
	},
	{
		name:      "nor by what the goal did",
		states:    map[string]string{"api": goal.Up},
		holds:     map[string]goal.Hold{"api": {By: "jo", At: ago(time.Minute), Operation: "Standard.stop"}},
		replicas:  []goal.Replica{on("backend", "b1", at("api", running, start(ended(time.Second))))},
		obstacles: []string{"on hold: jo asked for Standard.stop"},
	},
	{
		name:      "nor to where the goal does not want it",
		states:    map[string]string{"api": configured},
		holds:     map[string]goal.Hold{"api": {By: "jo", At: ago(time.Minute), Operation: "Standard.start"}},
		replicas:  []goal.Replica{on("backend", "b1", at("api", running, start(by("ann"), ended(time.Second))))},
		obstacles: []string{"on hold: jo asked for Standard.start"},
	},
	{
		name:      "what is about to be withdrawn is not there any more",
		states:    map[string]string{"gui": goal.Up},
		replicas:  []goal.Replica{on("backend", "b1", busy("api", running, "stop")), on("frontend", "f1", at("gui", configured))},
		obstacles: []string{`Standard.start waits for connection, which is endpoint of "api"`},
	},
	{
		name:     "dependents of what is lost go on running",
		states:   map[string]string{"gui": goal.Up},
		replicas: []goal.Replica{on("backend", "b1", at("api", configured, start(died(time.Second)))), on("frontend", "f1", at("gui", running))},
		steps:    []string{"b1 api start"},
	},
	{
		name:     "unless they say that they must not",
		model:    policy("gui", goal.Policy{TakeDown: []string{protocol.Connection}}),
		states:   map[string]string{"gui": goal.Up},
		replicas: []goal.Replica{on("backend", "b1", at("api", configured, start(died(time.Second)))), on("frontend", "f1", at("gui", running))},
		steps:    []string{"b1 api start", "f1 gui stop: it cannot be running without connection, which is endpoint of \"api\""},
	},
	{
		name:      "what cannot be heard is lost",
		model:     policy("gui", goal.Policy{TakeDown: []string{protocol.Connection}}),
		states:    map[string]string{"gui": goal.Up},
		replicas:  []goal.Replica{away(on("backend", "b1", at("api", running)), "its unit does not answer", true), on("frontend", "f1", at("gui", running))},
		steps:     []string{"f1 gui stop: it cannot be running without connection, which is endpoint of \"api\""},
		obstacles: []string{"its unit does not answer"},
	},
	{
		name:      "what fails its liveness checks is not there for those that require it live",
		model:     live,
		states:    map[string]string{"gui": goal.Up},
		replicas:  []goal.Replica{on("backend", "b1", failing(at("api", running))), on("frontend", "f1", at("gui", configured))},
		obstacles: []string{`Standard.start waits for connection, which is endpoint of "api"`},
	},
	{
		name:     "only for those",
		states:   map[string]string{"gui": goal.Up},
		replicas: []goal.Replica{on("backend", "b1", failing(at("api", running))), on("frontend", "f1", at("gui", configured))},
		steps:    []string{"f1 gui start"},
	},
	{
		name: "and they are stopped if they must not run without it",
		model: func(m *goal.Model) {
			live(m)
			m.Policies["gui"] = goal.Policy{TakeDown: []string{protocol.Connection}}
		},
		states:   map[string]string{"gui": goal.Up},
		replicas: []goal.Replica{on("backend", "b1", failing(at("api", running))), on("frontend", "f1", at("gui", running))},
		steps:    []string{"f1 gui stop: it cannot be running without connection, which is endpoint of \"api\""},
	},
	{
		name:     "what is on a component goes down with it first",
		states:   map[string]string{"plugin": goal.Up},
		replicas: []goal.Replica{on("backend", "b1", at("api", configured, start(died(time.Second))), at("plugin", running))},
		steps:    []string{"b1 plugin stop: it cannot be running without host of \"api\""},
	},
	{
		name:     "but not if the goal does not name it",
		states:   map[string]string{"api": goal.Up},
		replicas: []goal.Replica{on("backend", "b1", at("api", configured, start(died(time.Second))), at("plugin", running))},
		steps:    []string{"b1 api start"},
	},
	{
		name:   "and what was on it when it was started again begins anew",
		states: map[string]string{"plugin": goal.Up},
		replicas: []goal.Replica{on("backend", "b1",
			at("api", running, start(seq(2), died(time.Minute)), start(seq(9))), at("plugin", running, start(seq(3))))},
		steps: []string{`b1 plugin stop: it was running while "api" did not offer host`},
	},
	{
		name: "what can do without what falls stays where it is",
		model: func(m *goal.Model) {
			m.Elements[0].Bindings = append(m.Elements[0].Bindings, plan.Binding{Requirement: protocol.Connection, Target: "gui", Capability: protocol.Endpoint})
			m.Elements[2].Bindings = m.Elements[2].Bindings[:2]
			m.Policies["api"] = goal.Policy{TakeDown: []string{protocol.Connection}}
		},
		all:      goal.Down,
		replicas: []goal.Replica{on("backend", "b1", at("api", running), at("plugin", configured)), on("frontend", "f1", at("gui", deleted))},
		steps:    []string{`b1 api stop: it cannot be running without connection, which is endpoint of "gui"`},
	},
	{
		name: "what cannot goes first",
		model: func(m *goal.Model) {
			m.Elements[0].Bindings = append(m.Elements[0].Bindings, plan.Binding{Requirement: protocol.Connection, Target: "gui", Capability: protocol.Endpoint})
			m.Elements[2].Bindings = m.Elements[2].Bindings[:2]
			m.Policies["api"] = goal.Policy{TakeDown: []string{protocol.Connection}}
		},
		replicas: []goal.Replica{on("backend", "b1", at("api", running), at("plugin", running)), on("frontend", "f1", at("gui", created))},
		steps:    []string{`b1 plugin stop: it goes down with "api"`, "f1 gui configure"},
	},
	{
		name:   "replicas are led through a stop one after the other, and dependents stay",
		model:  safe,
		states: map[string]string{"api": "safe", "gui": goal.Up},
		replicas: []goal.Replica{
			on("backend", "b1", at("api", running)), on("backend", "b2", at("api", running)), on("backend", "b3", at("api", running)),
			on("frontend", "f1", at("gui", running)),
		},
		steps: []string{"b1 api stop"},
		obstacles: []string{
			`Standard.stop waits for b1: at most 1 of the replicas of "backend" may be unavailable at the same time`, "Standard.stop waits for b1",
		},
	},
	{
		name: "as many at a time as it says",
		model: func(m *goal.Model) {
			safe(m)
			m.MaxUnavailable = map[string]int{"backend": 2}
		},
		states: map[string]string{"api": "safe", "gui": goal.Up},
		replicas: []goal.Replica{
			on("backend", "b1", at("api", running)), on("backend", "b2", at("api", running)), on("backend", "b3", at("api", running)),
			on("frontend", "f1", at("gui", running)),
		},
		steps:     []string{"b1 api stop", "b2 api stop"},
		obstacles: []string{`Standard.stop waits until "gui" no longer requires connection`},
	},
	{
		name:   "the next waits until the one before is back",
		model:  safe,
		states: map[string]string{"api": "safe"},
		replicas: []goal.Replica{
			on("backend", "b1", at("api", configured)), on("backend", "b2", at("api", running)), on("backend", "b3", at("api", running)),
		},
		steps:     []string{"b1 api start"},
		obstacles: []string{"Standard.stop waits for b1", "Standard.stop waits for b1"},
	},
	{
		name:   "it goes on then",
		model:  safe,
		states: map[string]string{"api": "safe"},
		replicas: []goal.Replica{
			on("backend", "b1", at("api", "safe")), on("backend", "b2", at("api", running)), on("backend", "b3", at("api", running)),
		},
		steps:     []string{"b2 api stop"},
		obstacles: []string{"Standard.stop waits for b2"},
	},
	{
		name:   "not beside one that cannot be operated",
		model:  safe,
		states: map[string]string{"api": "safe"},
		replicas: []goal.Replica{
			on("backend", "b1", at("api", running)), away(on("backend", "b2", at("api", running)), "outdated", false),
		},
		obstacles: []string{"outdated", "Standard.stop waits for b2"},
	},
	{
		name:   "what takes nothing away does not wait for it",
		model:  safe,
		states: map[string]string{"api": "safe"},
		replicas: []goal.Replica{
			on("backend", "b1", at("api", created)), away(on("backend", "b2", at("api", running)), "outdated", false),
		},
		steps:     []string{"b1 api configure"},
		obstacles: []string{"outdated"},
	},
	{
		name:   "nor does one wait for a replica that is no worse",
		model:  safe,
		states: map[string]string{"api": "safe", "plugin": goal.Up},
		replicas: []goal.Replica{
			on("backend", "b1", at("api", running), at("plugin", configured)), on("backend", "b2", at("api", running), at("plugin", configured)),
		},
		steps:     []string{"b1 api stop"},
		obstacles: []string{"Standard.stop waits for b1"},
	},
	{
		name:   "dependents that are to go go first",
		model:  safe,
		states: map[string]string{"api": "safe", "gui": configured},
		replicas: []goal.Replica{
			on("backend", "b1", at("api", running)), on("backend", "b2", at("api", running)), on("frontend", "f1", at("gui", running)),
		},
		steps: []string{"f1 gui stop"},
	},
	{
		name:   "and all where nobody will offer what they require",
		states: map[string]string{"api": configured},
		replicas: []goal.Replica{
			on("backend", "b1", at("api", running)), on("backend", "b2", at("api", running)), on("frontend", "f1", at("gui", running)),
		},
		steps: []string{"f1 gui stop"},
	},
	{
		name:   "what is not to be offered in the end is taken away at once",
		states: map[string]string{"api": configured},
		replicas: []goal.Replica{
			on("backend", "b1", at("api", running)), on("backend", "b2", at("api", running)),
		},
		steps: []string{"b1 api stop", "b2 api stop"},
	},
	{
		name:     "a single replica goes away after its dependents",
		model:    safe,
		states:   map[string]string{"api": "safe", "gui": goal.Up},
		replicas: []goal.Replica{on("backend", "b1", at("api", running)), on("frontend", "f1", at("gui", running))},
		steps:    []string{"f1 gui stop"},
	},
	{
		name:   "dependents that run stay while a replica is missing",
		states: map[string]string{"gui": goal.Up},
		replicas: []goal.Replica{
			on("backend", "b1", at("api", running)), on("backend", "b2", at("api", configured)), on("frontend", "f1", at("gui", running)),
		},
		steps: []string{"b2 api start"},
	},
	{
		name: "a fault handler's state is where the way begins",
		model: func(m *goal.Model) {
			p := &m.Elements[0].Protocol
			p.States = append(p.States, protocol.State{Name: "broken", Requires: []string{protocol.Alive}, Offers: []string{protocol.Alive}})
			p.FaultHandlers = []protocol.FaultHandler{{Source: running, Target: "broken"}}
			p.Transitions = append(p.Transitions, protocol.Transition{Source: "broken", Target: configured, Operation: standard("repair")})
		},
		states:   map[string]string{"api": goal.Up},
		replicas: []goal.Replica{on("backend", "b1", at("api", "broken", start(died(time.Second))))},
		steps:    []string{"b1 api repair"},
	},
	{
		name:      "an instance of another version is not operated",
		states:    map[string]string{"api": goal.Up},
		replicas:  []goal.Replica{away(on("backend", "b1", at("api", configured)), "outdated", false), on("backend", "b2", at("api", configured))},
		steps:     []string{"b2 api start"},
		obstacles: []string{"outdated"},
	},
	{
		name:      "what cannot be heard offers nothing",
		states:    map[string]string{"gui": goal.Up},
		replicas:  []goal.Replica{away(on("backend", "b1", at("api", running)), "its unit does not answer", true), on("frontend", "f1", at("gui", configured))},
		obstacles: []string{"its unit does not answer", "no plan is possible while backend cannot be operated"},
	},
	{
		name:      "a container that does not run is waited for",
		states:    map[string]string{"gui": goal.Up},
		replicas:  []goal.Replica{on("frontend", "f1", at("gui", deleted))},
		steps:     []string{"f1 gui create"},
		obstacles: []string{"no running container is found"},
	},
	{
		name:      "a state that the protocol does not have allows nothing",
		states:    map[string]string{"api": goal.Up},
		replicas:  []goal.Replica{on("backend", "b1", at("api", "odd"))},
		obstacles: []string{`Standard.create is not allowed in state "odd"`},
	},
	{
		name:     "a goal that the model does not know is reported",
		states:   map[string]string{"api": "purple", "db": goal.Up, "gui": configured},
		replicas: []goal.Replica{on("backend", "b1", at("api", configured)), on("frontend", "f1", at("gui", created))},
		steps:    []string{"f1 gui configure"},
		notes:    []string{`"api" has no state "purple"`, `no component, container or group "db"`},
	},
	{
		name:      "without a plan for one component the others have theirs",
		states:    map[string]string{"gui": goal.Up, "api": goal.Down},
		replicas:  []goal.Replica{on("backend", "b1", at("api", configured)), on("frontend", "f1", at("gui", configured))},
		steps:     []string{"b1 api delete"},
		obstacles: []string{`the goal cannot be reached: in the goal "gui"`},
	},
	{
		name:     "what the goal does not name stays as it is",
		states:   map[string]string{"api": goal.Up},
		replicas: []goal.Replica{on("backend", "b1", at("api", running), at("plugin", configured)), on("frontend", "f1", at("gui", created))},
	},
	{
		name:     "none observes",
		all:      goal.Down,
		states:   map[string]string{"backend": goal.None, "gui": goal.None},
		replicas: []goal.Replica{on("backend", "b1", at("api", running), at("plugin", configured)), on("frontend", "f1", at("gui", created))},
	},
}

func TestDecisions(t *testing.T) {
	t.Parallel()
	for _, c := range decisions {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := small()
			if c.model != nil {
				c.model(&m)
			}
			if c.all == "" && c.states == nil {
				c.all = goal.Up
			}
			d := &goal.Document{Revision: asked, Asked: asked, At: ago(2 * time.Hour), All: c.all, States: c.states, Holds: c.holds}
			made := goal.NewModel(m).Decide(t.Context(), d, goal.Situation{Now: now, Complete: true, Replicas: c.replicas})
			var steps []string
			for _, s := range made.Steps {
				text := fmt.Sprintf("%s %s %s", s.Instance, s.Component, s.Operation.Name)
				if s.Why != "" {
					text += ": " + s.Why
				}
				steps = append(steps, text)
			}
			slices.Sort(steps)
			if diff := cmp.Diff(slices.Sorted(slices.Values(c.steps)), steps); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.held, persons(made.Holds)); diff != "" {
				t.Errorf("on hold (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.resumed, persons(made.Resumed)); diff != "" {
				t.Errorf("no longer on hold (-want +got):\n%s", diff)
			}
			var reasons []string
			for _, o := range made.Obstacles {
				reasons = append(reasons, o.Reason)
			}
			if reached := fmt.Sprintf("%d of %d", made.Reached, made.Wanted); c.reached != "" && reached != c.reached {
				t.Errorf("%s reached, not %s", reached, c.reached)
			}
			each(t, "obstacles", c.obstacles, reasons)
			each(t, "notes", c.notes, made.Notes)
			if woken := made.Wake.Sub(now); !made.Wake.IsZero() && woken != c.wake || made.Wake.IsZero() && c.wake != 0 {
				t.Errorf("it wakes at %v, not after %v", made.Wake, c.wake)
			}
		})
	}
}

func persons(holds map[string]goal.Hold) (texts []string) {
	for _, name := range slices.Sorted(maps.Keys(holds)) {
		texts = append(texts, name+" by "+holds[name].By)
	}
	return texts
}

// each fails unless each text has its part.
func each(t *testing.T, what string, parts, texts []string) {
	t.Helper()
	for i, part := range parts {
		if i >= len(texts) || !strings.Contains(texts[i], part) {
			t.Errorf("%s: %q, not %q", what, texts, parts)
			return
		}
	}
	if len(texts) != len(parts) {
		t.Errorf("%s: %q, not %q", what, texts, parts)
	}
}

func TestWithoutAGoalNothingIsDone(t *testing.T) {
	t.Parallel()
	m := small()
	s := goal.Situation{Now: now, Replicas: []goal.Replica{on("backend", "b1", at("api", deleted))}}
	if d := goal.NewModel(m).Decide(t.Context(), nil, s); len(d.Steps) > 0 || !d.Done() {
		t.Errorf("%+v", d)
	}
}
