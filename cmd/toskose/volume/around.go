package volume

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/toskose/toskose/cmd/toskose/live"
	"github.com/toskose/toskose/manager/client"
	"github.com/toskose/toskose/packager/deploy"
	"github.com/toskose/toskose/packager/volumes"
)

// stopped lists everything that was stopped and must be started again.
type stopped struct {
	s          *session
	p          place
	manager    string // its URL; empty: not given
	goal       client.Goal
	components []client.Component // in the order in which they were stopped
	containers []volumes.User
	lease      *lease // nil: no goal would start them meanwhile, or none was stopped
}

// startingAgain is how long that may take.
const startingAgain = 5 * time.Minute

// around calls a function while all users of the volumes are stopped, if --stop is given, and
// starts them again even if the function fails.
func (s *session) around(ctx context.Context, p place, all []volumes.Volume, flags copying, do func(context.Context) error) (err error) {
	if !flags.stop {
		return do(ctx)
	}
	w := &stopped{s: s, p: p, manager: flags.manager}
	ctx, lost := context.WithCancelCause(ctx)
	defer lost(nil)
	defer func() {
		if errors.Is(context.Cause(ctx), errLeaseLost) {
			err = errors.Join(err, errLeaseLost)
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startingAgain)
		defer cancel()
		err = errors.Join(err, w.start(ctx))
	}()
	if err := w.stop(ctx, all, lost); err != nil {
		return err
	}
	return do(ctx)
}

// ask calls a function with a client of the application's manager.
func (w *stopped) ask(ctx context.Context, f func(*client.Client) error) error {
	m := live.Manager{Dir: w.p.dir, Environ: w.s.environ, Address: w.manager}
	switch {
	case w.p.unasked:
		return fmt.Errorf("cannot ask the manager of %q %s: name the folder that was deployed there", w.p.app, w.p.name)
	case w.p.dir == "":
		m.Context = w.p.app
	case w.p.onCluster && w.manager == "":
		at, done, err := deploy.Reach(ctx, nil, deploy.Options{Dir: w.p.dir, Target: deploy.Kubernetes, Context: w.s.where.context, Environ: w.s.environ})
		if err != nil {
			return err
		}
		defer done()
		m.Address = at.Address
	}
	return m.Ask(f)
}

// stop stops the components of the containers that mount the volumes. It stops a container without
// components itself.
func (w *stopped) stop(ctx context.Context, all []volumes.Volume, lost context.CancelCauseFunc) error {
	var users []volumes.User
	for _, v := range all {
		for _, u := range v.Users {
			if u.Running && !slices.ContainsFunc(users, func(o volumes.User) bool { return o.ID == u.ID }) {
				users = append(users, u)
			}
		}
	}
	if len(users) == 0 {
		return nil
	}
	return w.ask(ctx, func(c *client.Client) error {
		app, err := idleApp(ctx, c, users)
		if err != nil {
			return err
		}
		if w.goal, err = c.Goal(ctx); err != nil {
			return err
		}
		if err := w.stopComponents(ctx, c, app, users, lost); err != nil {
			return err
		}
		for _, u := range users {
			if slices.ContainsFunc(app.Components, func(of client.Component) bool { return of.Node == u.Node }) {
				continue
			}
			w.s.say("%s: stopping the container", u.Name)
			w.containers = append(w.containers, u)
			if err := w.p.Stop(ctx, u); err != nil {
				return err
			}
		}
		return nil
	})
}

// idleApp returns the application once no operation runs on the containers of users: a stop
// that a killed command requested may still run.
func idleApp(ctx context.Context, c *client.Client, users []volumes.User) (app client.App, err error) {
	executing := func(of client.Component) bool {
		return of.Task == nil && slices.ContainsFunc(users, func(u volumes.User) bool { return u.Node == of.Node }) &&
			slices.ContainsFunc(of.Replicas, func(r client.Replica) bool { return r.Executing != "" })
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startingAgain, errors.New("operations of the components still run"))
	defer cancel()
	for {
		if app, err = c.App(ctx); err != nil || !slices.ContainsFunc(app.Components, executing) {
			return app, err
		}
		select {
		case <-ctx.Done():
			return app, context.Cause(ctx)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// stopComponents stops the components of containers, with a lease that keeps the goal from
// starting them.
func (w *stopped) stopComponents(ctx context.Context, c *client.Client, app client.App, users []volumes.User, lost context.CancelCauseFunc) error {
	var toStop []client.Component
	var names []string
	components, err := inOrder(ctx, c, app)
	if err != nil {
		return err
	}
	for _, of := range components {
		if slices.ContainsFunc(users, func(u volumes.User) bool { return u.Node == of.Node }) && slices.ContainsFunc(of.Allowed, isStop) {
			toStop, names = append(toStop, of), append(names, of.Name)
		}
	}
	if w.goal.None() {
		left, err := leftStopped(ctx, c, app)
		if err != nil {
			return err
		}
		for _, of := range left {
			w.s.say("%s: an earlier command that was interrupted has stopped it", of.Name)
		}
		w.components = left
	}
	if len(toStop) == 0 {
		return nil
	}
	if err := w.hold(ctx, c, names, lost); err != nil {
		return err
	}
	for _, of := range toStop {
		if err := ctx.Err(); err != nil {
			return err
		}
		w.components = append(w.components, of)
		if err := w.stopOne(ctx, c, of); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// inOrder returns the components in the order in which the plan for down stops them: dependents first.
func inOrder(ctx context.Context, c *client.Client, app client.App) ([]client.Component, error) {
	down, err := c.Plan(ctx, "down", nil)
	if err != nil {
		return nil, fmt.Errorf("cannot plan the order in which to stop the components: %w", err)
	}
	number := map[string]int{}
	if down.Plan != nil {
		for i, step := range down.Plan.Steps() {
			if _, known := number[step.Component]; !known && isStop(step.Operation.Operation.String()) {
				number[step.Component] = i
			}
		}
	}
	components := slices.Clone(app.Components)
	slices.Reverse(components)
	slices.SortStableFunc(components, func(a, b client.Component) int { return cmp.Compare(number[a.Name], number[b.Name]) })
	return components, nil
}

// stopOne stops a component. If ctx ends meanwhile, it waits for the end of the stop, since
// the component cannot be started before.
func (w *stopped) stopOne(ctx context.Context, c *client.Client, of client.Component) error {
	stopping, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(startingAgain, cancel)
		context.AfterFunc(stopping, func() { timer.Stop() })
	})()
	return w.run(stopping, c, of, "stop")
}

func isStart(operation string) bool {
	return operation == "start" || strings.HasSuffix(operation, ".start")
}

func isStop(operation string) bool {
	return operation == "stop" || strings.HasSuffix(operation, ".stop")
}

func (w *stopped) run(ctx context.Context, c *client.Client, of client.Component, operation string) error {
	w.s.say("%s: %s", of.Name, operation)
	req := client.RunRequest{Node: of.Node, Component: of.Name, Operation: operation}
	if operation == "stop" {
		req.ID = stopID + rand.Text()
	}
	x, err := c.Run(ctx, req, func(client.Execution) {})
	if err == nil && x.Outcome != client.OutcomeSucceeded {
		err = fmt.Errorf("it has %s", x.Outcome)
	}
	if err != nil {
		return fmt.Errorf("cannot %s %q: %w", operation, of.Name, err)
	}
	return nil
}

// startOne starts a component. It retries while the start is refused: until the components that it
// requires have started again, and until its interrupted stop has finished.
func (w *stopped) startOne(ctx context.Context, c *client.Client, of client.Component) error {
	for {
		err := w.run(ctx, c, of, "start")
		if !refused(err, "") {
			return err
		}
		now, asked := c.App(ctx)
		switch i := slices.IndexFunc(now.Components, func(o client.Component) bool { return o.Name == of.Name }); {
		case asked != nil || i < 0:
			return err
		case slices.ContainsFunc(now.Components[i].Replicas, func(r client.Replica) bool { return r.Executing != "" }): // for example its stop
		case slices.ContainsFunc(now.Components[i].Allowed, isStop):
			return nil // it was not stopped, or another client has started it
		case refused(err, ":not-allowed"): // nor will it be
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Second):
		}
	}
}

// refused reports whether something was not begun for a kind of reason.
func refused(err error, kind string) bool {
	var p *client.Problem
	return errors.As(err, &p) && p.Status == http.StatusConflict && strings.HasSuffix(p.Type, kind)
}

// start starts all that was stopped, the last first.
func (w *stopped) start(ctx context.Context) error {
	var failed []error
	for _, u := range slices.Backward(w.containers) {
		w.s.say("%s: starting the container", u.Name)
		failed = append(failed, w.p.Start(ctx, u))
	}
	if len(w.components) == 0 && w.lease == nil {
		return errors.Join(failed...)
	}
	failed = append(failed, w.ask(ctx, func(c *client.Client) error {
		var failed []error
		for _, of := range slices.Backward(w.components) {
			failed = append(failed, w.startOne(ctx, c, of))
		}
		return errors.Join(failed...)
	}))
	releasing, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	failed = append(failed, w.releaseAll(releasing))
	return errors.Join(failed...)
}

// releaseTime is how long it may take to release the holds, also after the starts have taken too long.
const releaseTime = time.Minute

// releaseAll ends the lease and all holds that the stops have placed on components, so that the goal applies to them again.
func (w *stopped) releaseAll(ctx context.Context) error {
	if w.lease != nil {
		w.lease.end()
	}
	return w.ask(ctx, func(c *client.Client) error {
		failed := []error{w.release(ctx, c)}
		for _, of := range slices.Backward(w.components) {
			failed = append(failed, live.Release(ctx, c, of.Name, w.goal))
		}
		return errors.Join(failed...)
	})
}
