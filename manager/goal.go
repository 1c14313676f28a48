package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/keep"
	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/tosca"
	"github.com/toskose/toskose/tosca/protocol"
	"github.com/toskose/toskose/tosca/protocol/plan"
	"github.com/toskose/toskose/unit/wire"
)

// GoalRequest asks for a goal.
type GoalRequest struct {
	State  string            // of all components; empty: as States says
	States map[string]string // by component, container or group
	Merge  bool              // the rest stays as it was asked for before
	By     string
}

// GoalView is the goal, how far it is and what is in its way.
type GoalView struct {
	State     string               `json:"state,omitempty"`  // asked for of all components
	States    map[string]string    `json:"states,omitempty"` // by component, container or group
	Revision  string               `json:"revision,omitempty"`
	By        string               `json:"by,omitempty"`
	At        time.Time            `json:"at,omitzero"`
	Default   bool                 `json:"default,omitempty"` // nobody set one: it is toskose.yml's
	Holds     map[string]goal.Hold `json:"holds,omitempty"`   // components that the goal leaves alone
	Acting    bool                 `json:"acting"`            // false: not enough replicas have said which goal they keep
	Lacking   []string             `json:"lacking,omitempty"` // replicas that do not keep it yet
	Done      bool                 `json:"done"`
	Reached   int                  `json:"reached"` // components on replicas that are as they should be
	Wanted    int                  `json:"wanted"`  // and all that the goal names
	Underway  []goal.Step          `json:"underway,omitempty"`
	Obstacles []goal.Obstacle      `json:"obstacles,omitempty"`
	Notes     []string             `json:"notes,omitempty"`
}

// PlanView is the way from now to a goal. Replicas of a node that stand alike are
// one element of it; the others have a number after their name.
type PlanView struct {
	Plan      *plan.Plan        `json:"plan"`
	Targets   map[string]string `json:"targets"` // what the goal means, by component
	Obstacles []goal.Obstacle   `json:"obstacles,omitempty"`
	Notes     []string          `json:"notes,omitempty"`
}

// goalModel returns the application as goals know it.
func goalModel(app *tosca.Application, conf *config.Config) *goal.Model {
	m := goal.Model{
		Elements: tosca.PlanElements(app), Node: map[string]string{}, Groups: map[string][]string{}, Policies: map[string]goal.Policy{},
	}
	for i := range app.Components {
		c := &app.Components[i]
		m.Node[c.Name] = c.Node
		m.Policies[c.Name] = policy(c, conf.Nodes[c.Node].Components[c.Name])
	}
	for _, u := range app.Units {
		m.Groups[u.Name] = u.Members
	}
	return goal.NewModel(m)
}

// policy returns how toskose.yml wants a component kept.
func policy(c *tosca.Component, conf config.Component) goal.Policy {
	p := goal.Policy{
		Stable: config.ParseDuration(conf.Restart.Stable), MaxDelay: config.ParseDuration(conf.Restart.DelayMax),
		Attempts: map[protocol.Operation]int{},
	}
	for name, r := range conf.Requirements {
		if r.WhileAway == config.WhileAwayDown {
			p.TakeDown = append(p.TakeDown, name)
		}
	}
	slices.Sort(p.TakeDown)
	for name := range c.Operations() {
		o := conf.Operations[name.String()]
		switch {
		case o.Attempts > 0:
			p.Attempts[name] = o.Attempts
		case c.Protocol.KindOf(name) == protocol.KindRun && conf.Restart.Attempts > 0:
			p.Attempts[name] = conf.Restart.Attempts
		}
	}
	return p
}

// newKeeper returns the keeper of the application, which Close ends.
func (a *App) newKeeper() *keep.Keeper {
	return keep.New(keep.Options{
		Model: a.goals, Observe: a.observe, Copies: a.copies, Execute: a.execute, Default: a.goal, Logger: a.log,
		Patience: a.opts.Patience, Retry: time.Second,
	})
}

// observe returns what the mirror knows as goals see it.
func (a *App) observe() (goal.Situation, <-chan struct{}) {
	now := a.mirror.Snapshot()
	return a.situation(now), now.Superseded()
}

func (a *App) situation(now *mirror.Snapshot) goal.Situation {
	s, _ := a.rules.situation(now)
	s.Now, s.Complete = time.Now(), now.Complete()
	return s
}

// seen returns a replica as goals see it.
func (r *rules) seen(at *mirror.Replica) goal.Replica {
	g := goal.Replica{Node: at.Node, Name: at.Address.String(), Instance: at.Instance, Components: map[string]goal.Component{}}
	switch {
	case at.Problem != nil || at.Instance == "":
		g.Problem, g.Unknown = "its unit does not answer", true
	case r.outdated(at):
		g.Problem = "outdated: it has another version of its components than the manager"
	}
	for _, c := range at.Components {
		g.Components[c.Component] = standing(c)
	}
	return g
}

// outdated reports whether a replica has another configuration than the manager's
// model: it is of another deployment, which a manager of its own operates.
func (r *rules) outdated(at *mirror.Replica) bool {
	expected := r.digests[at.Node]
	return expected != "" && at.Digest != "" && at.Digest != expected
}

// standing returns a component as goals see it.
func standing(c *mirror.Component) goal.Component {
	made := goal.Component{State: c.State, Open: c.StartedFrom != "", Seq: c.Seq}
	for _, x := range c.Recent {
		run := goal.Run{
			ID: x.ID, By: x.By, Operation: protocol.Operation{Interface: x.Interface, Name: x.Operation}, From: x.From, To: x.To,
			Cancelled: x.Outcome == wire.OutcomeCancelled, Started: x.Started, Ended: x.Ended, Gone: x.Gone, Stopped: x.Stopped, Seq: x.Seq,
		}
		switch x.Outcome {
		case wire.OutcomeRunning:
			made.Executing = &run
			continue
		case wire.OutcomeSucceeded, wire.OutcomeCancelled:
		case wire.OutcomeFailed, wire.OutcomeTimeout, wire.OutcomeLost:
			run.Failed = true
		}
		made.Runs = append(made.Runs, run)
	}
	return made
}

// instance finds where an instance of a node is.
func (a *App) instance(node, instance string) (replica, error) {
	n, err := a.node(node)
	if err != nil {
		return replica{}, err
	}
	for _, r := range a.mirror.Snapshot().Node(node).Replicas {
		if r.Instance == instance && r.Gone.IsZero() {
			return replica{node: n, addr: r.Address, pinned: instance, unit: a.pool.Client(r.Address, n.credentials)}, nil
		}
	}
	return replica{}, &Error{Kind: ErrUnreachable, Detail: fmt.Sprintf("instance %s of node %q is no longer found", instance, node)}
}

// execute runs a step of the goal's and waits for its end.
func (a *App) execute(ctx context.Context, step goal.Step) (seq uint64, err error) {
	r, err := a.instance(step.Node, step.Instance)
	if err != nil {
		return 0, err
	}
	op, err := a.operation(step.Node, step.Component, step.Operation.String())
	if err != nil {
		return 0, err
	}
	var x wire.Execution
	err = a.insist(ctx, false, func() (err error) {
		x, err = r.unit.Execute(ctx, wire.ExecuteRequest{
			ID: step.ID, Component: step.Component, Operation: step.Operation.String(), By: "goal", Instance: step.Instance, After: &step.After,
		})
		return err
	})
	if err == nil {
		x, err = a.await(ctx, &run{replica: r, op: op}, x)
	}
	if err != nil {
		return 0, unitError(r.String(), err)
	}
	return x.Seq, nil
}

// goalDocument is the name under which units keep the goal.
const goalDocument = "goal"

// copies is where a replica keeps the goal.
func (a *App) copies(node, instance string) keep.Copies { return copies{a, node, instance} }

type copies struct {
	app            *App
	node, instance string
}

func (c copies) Read(ctx context.Context) ([]byte, error) {
	r, err := c.app.instance(c.node, c.instance)
	if err != nil {
		return nil, err
	}
	text, err := r.unit.Document(ctx, goalDocument)
	code, _ := wire.FaultCodeOf(err)
	if code == wire.NoDocument {
		return nil, nil
	}
	if code == wire.NoDocuments || code == wire.NoStorage {
		return nil, fmt.Errorf("%w: %w", keep.ErrNoRoom, err)
	}
	return text, err
}

func (c copies) Write(ctx context.Context, revision wire.Revision, text []byte) error {
	r, err := c.app.instance(c.node, c.instance)
	if err != nil {
		return err
	}
	err = r.unit.PutDocument(ctx, goalDocument, wire.Document{Revision: revision, Content: text})
	var fault *wire.Fault
	switch code, _ := wire.FaultCodeOf(err); {
	case code == wire.OldRevision && errors.As(err, &fault):
		newer, err := wire.ParseRevision(fault.Revision)
		if err != nil {
			return fmt.Errorf("%s: %w", r, err)
		}
		return &keep.NewerError{Revision: newer}
	case code == wire.NoDocuments || code == wire.NoStorage:
		return fmt.Errorf("%w: %w", keep.ErrNoRoom, err)
	}
	return err
}

// Goal returns where the goal stands.
func (a *App) Goal() GoalView { return goalView(a.keeper.Status()) }

func goalView(s keep.Status) GoalView {
	v := GoalView{
		Default: s.Default, Acting: s.Acting, Lacking: s.Lacking, Underway: s.Underway, Done: s.Decision.Done() && len(s.Underway) == 0,
		Reached: s.Decision.Reached, Wanted: s.Decision.Wanted, Obstacles: s.Decision.Obstacles, Notes: s.Decision.Notes,
	}
	if d := s.Document; d != nil {
		v.State, v.States, v.Revision, v.By, v.At, v.Holds = d.All, d.States, d.Revision.String(), d.By, d.At, d.Holds
	}
	return v
}

// spreadTime is how long an answer waits until more than half of the replicas keep a goal.
const spreadTime = 5 * time.Second

// SetGoal makes a goal the one that holds. kept is false where not more than half of
// the replicas keep it yet: those that lack it are in the view.
func (a *App) SetGoal(ctx context.Context, req GoalRequest) (view GoalView, kept bool, err error) {
	if req.State == "" && len(req.States) == 0 {
		return view, false, &Error{Kind: ErrInvalid, Detail: `a goal is a state of all components, as in {"state": "up"}, or states by name, as in {"states": {"api": "running"}}`}
	}
	if targets, notes := a.goals.Targets(&goal.Document{All: req.State, States: req.States}); len(targets) == 0 && len(notes) > 0 {
		return view, false, &Error{Kind: ErrInvalid, Detail: notes[0]}
	}
	return a.spread(ctx, func(ctx context.Context) (keep.Status, error) {
		return a.keeper.Set(ctx, keep.Ask{All: req.State, States: req.States, Merge: req.Merge, By: req.By}, time.Now())
	})
}

// ResumeGoal ends holds: of the components given, or all.
func (a *App) ResumeGoal(ctx context.Context, components []string, by string) (view GoalView, kept bool, err error) {
	return a.spread(ctx, func(ctx context.Context) (keep.Status, error) {
		return a.keeper.Resume(ctx, components, by, time.Now())
	})
}

func (a *App) spread(ctx context.Context, change func(context.Context) (keep.Status, error)) (view GoalView, kept bool, err error) {
	ctx, cancel := a.detached(ctx)
	defer cancel()
	ctx, stop := context.WithTimeout(ctx, spreadTime)
	defer stop()
	s, err := change(ctx)
	switch {
	case errors.Is(err, keep.ErrNotHeld):
		return view, false, &Error{Kind: ErrInvalid, Detail: err.Error(), cause: err}
	case errors.Is(err, keep.ErrNotKept):
		return goalView(s), false, nil
	}
	return goalView(s), true, nil
}

// Plan returns the way from now to a goal that is not set, or, without one, to
// the one that is.
func (a *App) Plan(ctx context.Context, req GoalRequest) PlanView {
	document := &goal.Document{All: req.State, States: req.States}
	if status := a.keeper.Status(); req.State == "" && len(req.States) == 0 {
		document = status.Document
		if document == nil {
			document = &goal.Document{All: a.goal}
		}
	}
	s, _ := a.observe()
	d := a.goals.Decide(ctx, document, s)
	return PlanView{Plan: d.Plan, Targets: d.Targets, Obstacles: d.Obstacles, Notes: d.Notes}
}
