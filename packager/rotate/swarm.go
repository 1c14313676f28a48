package rotate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/output"
)

// Swarm is where an application runs whose secrets cannot change: containers are replaced by
// others that have other secrets.
type Swarm interface {
	// Services are those that mount secrets.
	Services(ctx context.Context) ([]Service, error)
	// Mount has a service mount other secrets, if it does not.
	Mount(ctx context.Context, service string, secrets map[string]output.Replacement) error
	// Settled says what the Swarm still does for that, or that it will not come about.
	Settled(ctx context.Context, service string) (waits string, err error)
	// Tidy removes secrets that nobody mounts, by name and suffix.
	Tidy(ctx context.Context, names map[string][]string) error
}

// Components are what a manager knows of the containers of its nodes.
type Components interface {
	// Drain has nothing begin on a node's containers for a while, and says what has not ended.
	Drain(ctx context.Context, node string) (waits []string, err error)
	// Undrain has operations begin again.
	Undrain(ctx context.Context, node string) error
	// Stand says where the components of a node are.
	Stand(ctx context.Context, node string) (Standing, error)
}

// Service is one of a Swarm's, with the secrets that it mounts.
type Service struct {
	Name    string
	Node    string            // of the application that it runs; empty: none
	Manager bool              // it is the manager's
	Managed bool              // the manager operates its units
	Secrets map[string]string // what ends their names, by what its containers call them
}

// job reports whether its containers end by themselves.
func (s Service) job() bool { return !s.Manager && !s.Managed }

// Standing is where the components of a node are.
type Standing struct {
	Goal   bool              // the application has one
	Done   bool              // which is reached
	States map[string]string // of the components that the goal does not leave alone

	Touched  []string // components to which something was done
	Restless []string // those that somebody has just taken from the goal, perhaps to give them back
}

// share draws what the manager mounts on a Swarm while units are replaced one after the
// other: what some of them use beside what the others do.
func (r *Rotation) share() error {
	values := map[string]string{}
	for name := range r.Old {
		values[name] = r.old(name) + r.Secrets[name].Value
		if name == packager.ManagerSecretKey { // the new one signs, the old one verifies
			values[name] = r.Secrets[name].Value + "\n" + r.old(name)
		}
	}
	for _, name := range r.names() {
		service, ok := strings.CutSuffix(name, certSuffix)
		if !ok || r.Key == "" || slices.Contains(r.opts.Nodes, service) {
			continue
		}
		for _, of := range []string{name, service + keySuffix} { // the new one first
			was, err := r.text(of)
			if err != nil {
				return err
			}
			values[of] = r.Secrets[of].Value + was
		}
	}
	var err error
	r.Shared, err = output.Replacements(r.opts.Dir, values, r.opts.Random)
	return err
}

// services are those that have any of the secrets, in the order in which they are replaced.
func (r *Rotation) services(ctx context.Context) (manager Service, others []Service, err error) {
	all, err := r.opts.Swarm.Services(ctx)
	if err != nil {
		return manager, nil, err
	}
	for _, s := range all {
		switch has := slices.ContainsFunc(r.names(), func(name string) bool { return s.Secrets[name] != "" }); {
		case s.Manager:
			manager = s
		case has:
			others = append(others, s)
		}
	}
	if manager.Name == "" {
		return manager, nil, errors.New("the swarm does not run its manager")
	}
	slices.SortStableFunc(others, func(a, b Service) int { return cmp.Compare(number(a.job()), number(b.job())) })
	return manager, others, nil
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// lacks reports whether a service mounts others than these.
func (s Service) lacks(secrets map[string]output.Replacement) bool {
	for name, suffix := range s.Secrets {
		if now, ok := secrets[name]; ok && now.Suffix != suffix {
			return true
		}
	}
	return false
}

// Plan says which containers a Swarm replaces.
func (r *Rotation) Plan(ctx context.Context) ([]string, error) {
	if r.opts.Swarm == nil {
		return nil, nil
	}
	manager, others, err := r.services(ctx)
	if err != nil {
		return nil, err
	}
	order, units, jobs := []string{manager.Name}, []string{}, []string{}
	for _, s := range others {
		if s.job() {
			jobs = append(jobs, s.Name)
			continue
		}
		order, units = append(order, s.Name), append(units, s.Name)
	}
	order = append(order, manager.Name)
	lines := []string{"a swarm's secrets cannot change, so containers are replaced, one service after the other: " + strings.Join(order, ", ")}
	if len(units) > 0 {
		lines = append(lines, fmt.Sprintf("new containers of %s start empty, on their volumes as they are: components are created again, by the goal or, without one, by `toskose up`", strings.Join(units, ", ")))
	}
	if len(jobs) > 0 {
		lines = append(lines, "jobs that run once more: "+strings.Join(jobs, ", "))
	}
	return lines, nil
}

// offer has the manager accept what is new beside what is old, and know both of units.
func (r *Rotation) offer(ctx context.Context) error {
	manager, _, err := r.services(ctx)
	if err != nil {
		return err
	}
	secrets := maps.Clone(r.Secrets)
	maps.Copy(secrets, r.Shared)
	return r.mount(ctx, manager, secrets)
}

// settle has the manager know only what is new.
func (r *Rotation) settle(ctx context.Context) error {
	manager, _, err := r.services(ctx)
	if err != nil {
		return err
	}
	return r.mount(ctx, manager, r.Secrets)
}

// mount replaces the containers of a service, and waits until the Swarm has.
func (r *Rotation) mount(ctx context.Context, s Service, secrets map[string]output.Replacement) error {
	if s.lacks(secrets) {
		r.say("replacing %s", s.Name)
	}
	if err := r.opts.Swarm.Mount(ctx, s.Name, secrets); err != nil || s.job() {
		return err
	}
	return r.until(ctx, func(ctx context.Context) ([]string, error) { return r.unsettled(ctx, s) })
}

func (r *Rotation) unsettled(ctx context.Context, s Service) ([]string, error) {
	waits, err := r.opts.Swarm.Settled(ctx, s.Name)
	if waits == "" || err != nil {
		return nil, err
	}
	return []string{s.Name + ": " + waits}, nil
}

// until asks again and again, until nothing is waited for. An error ends it.
func (r *Rotation) until(ctx context.Context, ask func(context.Context) (waits []string, err error)) error {
	limited, cancel := context.WithTimeout(ctx, r.opts.Timeout)
	defer cancel()
	var last []string
	for {
		if err := r.beat(); err != nil {
			return err
		}
		waits, err := ask(limited)
		if err == nil && len(waits) == 0 {
			return nil
		}
		if limited.Err() != nil && ctx.Err() == nil && len(waits) == 0 {
			waits = last
		} else if err != nil {
			return err
		}
		last = waits
		select {
		case <-time.After(r.opts.Poll):
		case <-limited.Done():
			return errors.Join(ctx.Err(), fmt.Errorf("not after %s: %s", r.opts.Timeout, strings.Join(last, "; ")))
		}
	}
}

// rollUnits replaces the containers of all units, one service after the other.
func (r *Rotation) rollUnits(ctx context.Context) error {
	_, others, err := r.services(ctx)
	if err != nil {
		return err
	}
	for _, s := range others {
		if s.job() {
			err = r.mount(ctx, s, r.Secrets)
		} else {
			err = r.replace(ctx, s)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return nil
}

// replace replaces the containers of a service when nothing runs in them, and returns when
// the goal has brought their components back.
func (r *Rotation) replace(ctx context.Context, s Service) (err error) {
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if failed := r.opts.Components.Undrain(end, s.Node); err == nil {
			err = failed
		}
	}()
	if s.lacks(r.Secrets) {
		if err := r.empty(ctx, s); err != nil {
			return err
		}
	}
	r.say("replacing %s", s.Name)
	if err := r.opts.Swarm.Mount(ctx, s.Name, r.Secrets); err != nil {
		return err
	}
	before := r.Before[s.Node]
	err = r.until(ctx, func(ctx context.Context) ([]string, error) {
		_, _ = r.opts.Components.Drain(ctx, s.Node) // it would end by itself
		if waits, err := r.unsettled(ctx, s); len(waits) > 0 || err != nil {
			return waits, err
		}
		state, err := r.opts.Ask(ctx)
		if err != nil {
			return []string{err.Error()}, nil //nolint:nilerr // it is asked again, until the time is up
		}
		if missing := r.notReplaced(state, s.Node); len(missing) > 0 {
			return missing, nil
		}
		return r.away(ctx, s.Node, before), nil
	})
	if err == nil {
		r.say("%s runs with what is new", s.Name)
	}
	return err
}

// empty waits until nothing runs on a node, and nothing begins any more. What somebody has
// only just stopped may be about to be started again.
func (r *Rotation) empty(ctx context.Context, s Service) error {
	if err := r.opts.Components.Undrain(ctx, s.Node); err != nil { // somebody may have drained what was there before
		return err
	}
	return r.until(ctx, func(ctx context.Context) ([]string, error) {
		waits, err := r.opts.Components.Drain(ctx, s.Node)
		if err != nil || len(waits) > 0 {
			return waits, err
		}
		now, err := r.opts.Components.Stand(ctx, s.Node)
		if err != nil {
			return nil, err
		}
		if len(now.Restless) > 0 {
			return now.Restless, r.opts.Components.Undrain(ctx, s.Node)
		}
		if r.Before == nil {
			r.Before = map[string]Standing{}
		}
		r.Before[s.Node] = now
		return nil, r.save()
	})
}

// away says which components of a node the goal has not brought back.
func (r *Rotation) away(ctx context.Context, node string, before Standing) (names []string) {
	now, err := r.opts.Components.Stand(ctx, node)
	switch {
	case err != nil:
		return []string{err.Error()}
	case !before.Goal || now.Done:
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(before.States)) {
		if state, ok := now.States[name]; ok && state != before.States[name] {
			names = append(names, fmt.Sprintf("%s is %q, and was %q", name, state, before.States[name]))
		}
	}
	if len(names) == 0 && before.Done {
		names = []string{"the goal is not reached again"}
	}
	return names
}

// anew says which components are in containers that were replaced.
func (r *Rotation) anew() {
	var names []string
	goal := false
	for _, s := range r.Before {
		names, goal = append(names, s.Touched...), goal || s.Goal
	}
	slices.Sort(names)
	switch names = slices.Compact(names); {
	case len(names) == 0:
	case goal:
		r.say("created again in new containers, by the goal: %s", strings.Join(names, ", "))
	default:
		r.say("in new containers, to be created again: %s; `toskose up` does that", strings.Join(names, ", "))
	}
}

// tidy removes what nobody mounts any more.
func (r *Rotation) tidy(ctx context.Context) error {
	old := map[string][]string{}
	for name, s := range r.Secrets {
		old[name] = append(old[name], s.Before)
	}
	for name, s := range r.Shared {
		old[name] = append(old[name], s.Suffix)
	}
	return r.opts.Swarm.Tidy(ctx, old)
}
