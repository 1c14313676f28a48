package keep_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/keep"
	"github.com/toskose/toskose/manager/signature"
	"github.com/toskose/toskose/spec/plan"
	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/wire"
)

// application is units as a Keeper sees them: they keep documents, and run an
// execution once, and only for who has seen their last entry.
type application struct {
	m *goal.Model

	mu         sync.Mutex
	replicas   []*unit
	missing    []string
	superseded chan struct{}
	added      int
	runs       []string       // component:operation, in the order in which they ended
	odd        []string       // what was asked for and is not allowed
	fails      map[string]int // how often an operation of a component fails before it succeeds
	never      bool           // operations do not end
	unknown    bool           // not all nodes are known yet
	reads      int            // of documents
	parts      map[string]int // how often each index of each round of a Task was completed
	together   int            // how many run
	most       int            // and ran at the same time
	tries      map[string]try // for each index, by the goal that asked for it
	code       int            // what an index that fails ends with
	secrets    []string       // that sign documents
	notices    []keep.Notice
}

type unit struct {
	app        *application
	node, id   string
	seq        uint64
	components map[string]goal.Component
	text       []byte
	revision   wire.Revision
	homeless   bool
	executions map[string]bool
	down       bool
	targets    wire.Document
}

func (a *application) add(node string) *unit {
	a.mu.Lock()
	defer a.mu.Unlock()
	u := &unit{app: a, node: node, id: fmt.Sprintf("%s-%d", node, a.added), components: map[string]goal.Component{}, executions: map[string]bool{}}
	for _, e := range a.m.Elements {
		if a.m.Node[e.Name] == node {
			u.components[e.Name] = goal.Component{State: e.Protocol.Initial}
		}
	}
	a.replicas = append(a.replicas, u)
	a.added++
	a.change()
	return u
}

// change wakes who observes. The caller holds the lock.
func (a *application) change() {
	if a.superseded != nil {
		close(a.superseded)
	}
	a.superseded = make(chan struct{})
}

func (a *application) do(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
	a.change()
}

func (a *application) observe() (goal.Situation, <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := goal.Situation{Now: time.Now(), Complete: !a.unknown, Missing: slices.Clone(a.missing)}
	for _, u := range a.replicas {
		r := goal.Replica{Node: u.node, Name: u.id, Instance: u.id, Components: maps.Clone(u.components)}
		if u.down {
			r.Problem, r.Unknown = "it does not answer", true
		}
		s.Replicas = append(s.Replicas, r)
	}
	return s, a.superseded
}

// unit returns a replica; one that is not found is down.
func (a *application) unit(id string) *unit {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, u := range a.replicas {
		if u.id == id {
			return u
		}
	}
	return &unit{app: a, id: id, down: true}
}

var errDown = errors.New("connection refused")

func (u *unit) Read(context.Context) (wire.Document, error) {
	u.app.mu.Lock()
	defer u.app.mu.Unlock()
	u.app.reads++
	switch {
	case u.down:
		return wire.Document{}, errDown
	case u.homeless:
		return wire.Document{}, keep.ErrNoRoom
	}
	return wire.Document{Revision: u.revision, Content: u.text}, nil
}

func (u *unit) Write(_ context.Context, d wire.Document) error {
	u.app.mu.Lock()
	defer u.app.mu.Unlock()
	switch {
	case u.down:
		return errDown
	case u.homeless:
		return keep.ErrNoRoom
	case u.revision.Compare(d.Revision) > 0 && d.Replaces != u.revision:
		return &keep.NewerError{Revision: u.revision}
	}
	u.text, u.revision = d.Content, d.Revision
	return nil
}

func (a *application) protocol(component string) protocol.Protocol {
	i := slices.IndexFunc(a.m.Elements, func(e plan.Element) bool { return e.Name == component })
	return a.m.Elements[i].Protocol
}

// execute is a unit's POST /executions and the wait for its end, which takes a second.
func (a *application) execute(ctx context.Context, step goal.Step) (uint64, error) {
	u := a.unit(step.Instance)
	a.mu.Lock()
	c := u.components[step.Component]
	switch {
	case u.down:
		a.mu.Unlock()
		return 0, errDown
	case u.executions[step.ID]:
		a.mu.Unlock()
		return 0, nil
	case c.Seq != step.After || c.Executing != nil:
		a.mu.Unlock()
		return 0, errors.New("NEWER_ENTRY")
	}
	if p := a.protocol(step.Component); !slices.ContainsFunc(p.Transitions, func(t protocol.Transition) bool {
		return t.Source == c.State && t.Operation == step.Operation && t.Target == step.To
	}) {
		a.odd = append(a.odd, fmt.Sprintf("%+v in state %q", step, c.State))
	}
	if a.tryBegins(step) {
		a.odd = append(a.odd, fmt.Sprintf("%+v after %+v", step, a.tries))
	}
	u.executions[step.ID] = true
	u.seq++
	c.Seq = u.seq
	c.Executing = &goal.Run{ID: step.ID, Operation: step.Operation, From: c.State, Started: time.Now(), Part: step.Part}
	u.components[step.Component] = c
	if step.Part != nil {
		a.together++
		a.most = max(a.most, a.together)
	}
	a.change()
	never := a.never
	a.mu.Unlock()
	if never {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	time.Sleep(time.Second)
	a.mu.Lock()
	defer a.mu.Unlock()
	name := step.Component + ":" + step.Operation.Name
	c = u.components[step.Component]
	run := *c.Executing
	u.seq++
	run.Seq, run.Ended, run.To = u.seq, time.Now(), run.From
	c.Seq, c.Executing = u.seq, nil
	if run.Failed = a.fails[name] > 0; run.Failed {
		a.fails[name]--
	} else {
		run.To, c.State = step.To, step.To
		c.Open = c.Open && step.Operation.Kind() != protocol.KindStop || step.Operation.Kind() == protocol.KindStart
	}
	if step.Part != nil {
		a.together--
		a.tryEnds(step, &run)
	}
	c.Runs = append(slices.Clone(c.Runs), run)
	u.components[step.Component] = c
	a.runs = append(a.runs, name)
	a.change()
	return u.seq, nil
}

// die ends the processes of a component's start.
func (u *unit) die(component string, stopped bool) {
	u.app.do(func() {
		c := u.components[component]
		u.seq++
		c.Seq, c.Open, c.State = u.seq, false, protocol.Configured
		c.Runs = slices.Clone(c.Runs)
		last := &c.Runs[len(c.Runs)-1]
		last.Gone, last.Stopped = time.Now(), stopped
		u.components[component] = c
	})
}

// start is a person's operation.
func (u *unit) start(component, by string) {
	u.app.do(func() {
		c := u.components[component]
		u.seq++
		run := goal.Run{
			ID: fmt.Sprintf("%s-%d", by, u.seq), By: by, Operation: protocol.Operation{Interface: protocol.Standard, Name: "start"},
			From: c.State, To: protocol.Running, Started: time.Now(), Ended: time.Now(), Seq: u.seq,
		}
		c.Seq, c.Open, c.State, c.Runs = u.seq, true, protocol.Running, append(slices.Clone(c.Runs), run)
		u.components[component] = c
	})
}

func (a *application) state(u *unit, component string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return u.components[component].State
}

// thinking is two containers with a component each, of which one requires the other.
func thinking() *goal.Model {
	component := func(name, node string, uses ...string) plan.Element {
		e := plan.Element{Name: name, Protocol: protocol.Software(), Bindings: []plan.Binding{
			{Requirement: protocol.Host, Target: node, Capability: protocol.Host},
			{Requirement: protocol.Alive, Target: node, Capability: protocol.Alive},
		}}
		for _, other := range uses {
			e.Bindings = append(e.Bindings, plan.Binding{Requirement: protocol.Connection, Target: other, Capability: protocol.Endpoint})
		}
		return e
	}
	return goal.NewModel(goal.Model{
		Elements: []plan.Element{
			component("api", "backend"),
			component("gui", "frontend", "api"),
			{Name: "backend", Protocol: protocol.Container()},
			{Name: "frontend", Protocol: protocol.Container()},
		},
		Node: map[string]string{"api": "backend", "gui": "frontend"},
	})
}

func newApplication() *application {
	return &application{m: thinking(), fails: map[string]int{}, parts: map[string]int{}, tries: map[string]try{}, superseded: make(chan struct{}), secrets: []string{"secret"}}
}

// keeper runs a Keeper of the application until the test, or the function that it returns, ends it.
func (a *application) keeper(t *testing.T, otherwise string) (*keep.Keeper, func()) {
	t.Helper()
	return a.run(t, keep.Options{
		Observe: a.observe, Execute: a.execute, Default: otherwise,
		Copies:  func(_, instance string) keep.Copies { return a.unit(instance) },
		Targets: func(_, instance string) keep.Copies { return targets{a.unit(instance)} },
	})
}

func (a *application) run(t *testing.T, opts keep.Options) (*keep.Keeper, func()) {
	t.Helper()
	opts.Model = a.m
	opts.Keys = func() signature.Keys {
		a.mu.Lock()
		defer a.mu.Unlock()
		return signature.NewKeys(a.secrets)
	}
	opts.Report = func(n keep.Notice) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.notices = append(a.notices, n)
	}
	k := keep.New(opts)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { k.Run(ctx) })
	end := func() { cancel(); running.Wait() }
	t.Cleanup(end)
	return k, end
}

func (a *application) settle(k *keep.Keeper) keep.Status {
	time.Sleep(30 * time.Second)
	synctest.Wait()
	return k.Status()
}

func TestAGoalIsReachedAndKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newApplication()
		api, gui := a.add("backend"), a.add("frontend")
		k, end := a.keeper(t, "")
		if s := a.settle(k); s.Document != nil || len(a.runs) > 0 || !s.Acting {
			t.Fatalf("without a goal: %+v, ran %v", s, a.runs)
		}
		if _, err := k.Set(t.Context(), keep.Ask{All: goal.Up, By: "jo"}, time.Now()); err != nil {
			t.Fatal(err)
		}
		if s := a.settle(k); !s.Decision.Done() || a.state(gui, "gui") != protocol.Running {
			t.Fatalf("%+v", s.Decision)
		}
		want := []string{"api:create", "api:configure", "api:start", "gui:create", "gui:configure", "gui:start"}
		if slices.Sort(want); len(a.runs) != len(want) {
			t.Errorf("ran %v", a.runs)
		}
		if slices.Index(a.runs, "gui:start") < slices.Index(a.runs, "api:start") {
			t.Errorf("gui was started before api: %v", a.runs)
		}

		api.die("api", false)
		a.settle(k)
		if a.state(api, "api") != protocol.Running || len(a.runs) != 7 {
			t.Errorf("api that died is %s; ran %v", a.state(api, "api"), a.runs)
		}

		end() // and another manager finds what there is
		again, _ := a.keeper(t, "")
		if s := a.settle(again); s.Document == nil || s.Document.All != goal.Up || len(a.runs) != 7 {
			t.Errorf("after a restart: %+v, ran %v", s.Document, a.runs)
		}
		gui.die("gui", false)
		if a.settle(again); a.state(gui, "gui") != protocol.Running {
			t.Errorf("gui that died is %s", a.state(gui, "gui"))
		}
	})
}

func TestWhatFailsIsTriedAgainAndWhatIsReplacedIsRebuilt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newApplication()
		a.fails["api:start"], a.fails["gui:create"] = 2, 9
		old := a.add("backend")
		a.add("frontend")
		k, _ := a.keeper(t, goal.Up)
		s := a.settle(k)
		if a.state(old, "api") != protocol.Running {
			t.Errorf("api, whose start failed twice, is %s", a.state(old, "api"))
		}
		tried := len(slices.DeleteFunc(slices.Clone(a.runs), func(r string) bool { return r != "gui:create" }))
		if tried != 3 || s.Decision.Done() || len(s.Decision.Obstacles) == 0 {
			t.Errorf("gui's create was tried %d times; %+v", tried, s.Decision.Obstacles)
		}
		a.do(func() { a.replicas = slices.DeleteFunc(a.replicas, func(u *unit) bool { return u == old }) })
		fresh := a.add("backend")
		if a.settle(k); a.state(fresh, "api") != protocol.Running {
			t.Errorf("api in a new container is %s", a.state(fresh, "api"))
		}
	})
}

func TestWhoLeadsAComponentAwayPutsItOnHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newApplication()
		api := a.add("backend")
		a.add("frontend")
		k, end := a.keeper(t, goal.Up)
		a.settle(k)
		ran := len(a.runs)
		api.die("api", true) // somebody used supervisorctl
		s := a.settle(k)
		if _, held := s.Document.Holds["api"]; !held || s.Document.All != "" || len(a.runs) != ran {
			t.Fatalf("the goal is %+v, and %v ran", s.Document, a.runs[ran:])
		}
		end()
		k, _ = a.keeper(t, goal.Up)
		if s = a.settle(k); len(a.runs) != ran || len(s.Lacking) > 0 {
			t.Errorf("another manager does not heed the hold: %v", a.runs[ran:])
		}
		if _, err := k.Resume(t.Context(), []string{"gui"}, "jo", time.Now()); !errors.Is(err, keep.ErrNotHeld) {
			t.Errorf("gui is not on hold: %v", err)
		}
		if _, err := k.Resume(t.Context(), nil, "jo", time.Now()); err != nil {
			t.Fatal(err)
		}
		if a.settle(k); a.state(api, "api") != protocol.Running {
			t.Errorf("after the hold api is %s", a.state(api, "api"))
		}
	})
}

func TestAHoldEndsWithBothManagersWhenItsComponentIsLedBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newApplication()
		api := a.add("backend")
		a.add("frontend")
		one, _ := a.keeper(t, goal.Up)
		two, _ := a.keeper(t, goal.Up)
		a.settle(one)
		api.die("api", true)
		a.settle(one)
		for _, k := range []*keep.Keeper{one, two} {
			if d := k.Status().Document; d == nil || d.Holds["api"].Operation == "" {
				t.Fatalf("api is not on hold: %+v", d)
			}
		}
		api.start("api", "jo")
		a.settle(one)
		for _, k := range []*keep.Keeper{one, two} {
			s := k.Status()
			if len(s.Document.Holds) > 0 || s.Document.Resumed["api"].By != "jo" || !s.Decision.Done() {
				t.Errorf("%+v, %+v", s.Document, s.Decision)
			}
		}
		ran := len(a.runs)
		api.die("api", false)
		if a.settle(one); a.state(api, "api") != protocol.Running || len(a.runs) != ran+1 {
			t.Errorf("api that died is %s, after %v", a.state(api, "api"), a.runs[ran:])
		}
		api.die("api", true)
		if d := a.settle(two).Document; d.Holds["api"].Operation == "" || len(d.Resumed) > 0 {
			t.Errorf("api is not on hold again: %+v", d)
		}
	})
}

func TestNobodyIsAskedForTheGoalUntilAllNodesAreKnown(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(*application, *keep.Keeper)
	}{
		"all are known": {func(a *application, _ *keep.Keeper) { a.do(func() { a.unknown = false }) }},
		"somebody sets one": {func(_ *application, k *keep.Keeper) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
			defer cancel()
			_, _ = k.Set(ctx, keep.Ask{All: goal.Up}, time.Now()) // nobody keeps it so soon
		}},
		"some are not for long": {func(*application, *keep.Keeper) { time.Sleep(time.Second) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newApplication()
				a.unknown = true
				a.add("backend")
				k, _ := a.keeper(t, goal.Up)
				reads := func() int {
					synctest.Wait()
					a.mu.Lock()
					defer a.mu.Unlock()
					return a.reads
				}
				time.Sleep(500 * time.Millisecond)
				if n := reads(); n > 0 {
					t.Errorf("%d units were asked before", n)
				}
				if c.happens(a, k); reads() == 0 {
					t.Error("no unit is asked")
				}
			})
		})
	}
}

func TestMoreThanHalfOfTheReplicasDecide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newApplication()
		var units []*unit
		for _, node := range []string{"backend", "backend", "frontend"} {
			units = append(units, a.add(node))
		}
		a.do(func() { units[0].down, units[1].down = true, true })
		k, _ := a.keeper(t, "")
		short, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		s, err := k.Set(short, keep.Ask{All: goal.Up}, time.Now())
		if !errors.Is(err, keep.ErrNoEvidence) || s.Document != nil || s.Acting {
			t.Fatalf("a goal is accepted without knowing the latest one: %v, %+v", err, s)
		}
		if s = a.settle(k); s.Acting || len(a.runs) > 0 {
			t.Errorf("one of three acts: %v", a.runs)
		}
		a.do(func() { units[0].down = false })
		a.settle(k)
		if _, err := k.Set(t.Context(), keep.Ask{All: goal.Up}, time.Now()); err != nil {
			t.Fatal(err)
		}
		if s = a.settle(k); !s.Acting || a.state(units[0], "api") != protocol.Running || len(s.Lacking) != 1 {
			t.Errorf("two of three: %+v", s)
		}
		a.do(func() { units[1].down = false })
		time.Sleep(time.Minute)
		if s = a.settle(k); !s.Decision.Done() || len(s.Lacking) > 0 {
			t.Errorf("all: %+v", s)
		}
	})
}

func TestOfTwoManagersGoalsOneRemains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newApplication()
		for _, node := range []string{"backend", "backend", "frontend"} {
			a.add(node)
		}
		one, _ := a.keeper(t, "")
		two, _ := a.keeper(t, "")
		a.settle(one)
		for i := range 8 {
			var both sync.WaitGroup
			for j, k := range []*keep.Keeper{one, two} {
				both.Go(func() {
					state := []string{goal.Up, goal.Down, protocol.Created}[(i+j)%3]
					_, _ = k.Set(t.Context(), keep.Ask{All: state}, time.Now())
				})
			}
			both.Wait()
			time.Sleep(time.Duration(i) * time.Second)
		}
		a.settle(one)
		s, o := one.Status(), two.Status()
		if s.Document.Revision != o.Document.Revision || !s.Decision.Done() || !o.Decision.Done() {
			t.Errorf("%+v and %+v; %+v and %+v", s.Document, o.Document, s.Decision, o.Decision)
		}
		for _, u := range a.replicas {
			if u.revision != s.Document.Revision {
				t.Errorf("%s keeps %s, and not %s", u.id, u.revision, s.Document.Revision)
			}
		}
	})
}

func TestAUnitWithoutRoomForTheGoalIsOperated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newApplication()
		u := a.add("backend")
		u.homeless = true
		a.add("frontend")
		a.add("frontend")
		k, _ := a.keeper(t, "")
		if _, err := k.Set(t.Context(), keep.Ask{States: map[string]string{"api": goal.Up}}, time.Now()); err != nil {
			t.Fatal(err)
		}
		if s := a.settle(k); a.state(u, "api") != protocol.Running || len(s.Lacking) != 1 {
			t.Errorf("api is %s; %+v", a.state(u, "api"), s)
		}
	})
}
