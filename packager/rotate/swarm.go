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

// Swarm replaces the containers of an application, because the secrets of a Swarm are immutable.
type Swarm interface {
	// Services returns the services that mount secrets.
	Services(ctx context.Context) ([]Service, error)
	// Mount makes a service mount the given secrets; it does nothing if the service already does.
	Mount(ctx context.Context, service string, secrets map[string]output.Replacement) error
	// Settled returns the unfinished work of the Swarm for that, or an error if it has failed.
	Settled(ctx context.Context, service string) (waits string, err error)
	// Tidy removes secrets that no service mounts, by name and suffix.
	Tidy(ctx context.Context, names map[string][]string) error
}

// Components operates the components in the containers of nodes, through the manager.
type Components interface {
	// Drain blocks new operations on a node's containers for a limited time, and returns the operations that still run.
	Drain(ctx context.Context, node string) (waits []string, err error)
	// Undrain ends the drain.
	Undrain(ctx context.Context, node string) error
	// State returns the states of the components of a node.
	State(ctx context.Context, node string) (NodeState, error)
}

// Service is a service of a Swarm with the secrets that it mounts.
type Service struct {
	Name    string
	Node    string            // the node of the application that it runs, or ""
	Manager bool              // it is the manager's
	Managed bool              // the manager operates its units
	Secrets map[string]string // suffixes of their names in the Swarm, by their names in containers
}

// job reports whether its containers exit when they are done.
func (s Service) job() bool { return !s.Manager && !s.Managed }

// NodeState has the states of the components of a node.
type NodeState struct {
	Goal   bool              // the application has one
	Done   bool              // the goal is reached
	States map[string]string // of the components that are not on hold

	Created  []string `json:"Touched"`  // components with executions
	Changing []string `json:"Restless"` // components that were just put on hold, perhaps by a restart
}

// makeSharedSecrets makes the secrets that the manager mounts while the units of a Swarm are
// replaced one after the other: old and new values together.
func (r *Rotation) makeSharedSecrets() error {
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

// services returns the services with replaced secrets, in the order of replacement.
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
		return manager, nil, errors.New("the manager is not running in the swarm")
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

// needsUpdate reports whether a service mounts other secrets than these.
func (s Service) needsUpdate(secrets map[string]output.Replacement) bool {
	for name, suffix := range s.Secrets {
		if now, ok := secrets[name]; ok && now.Suffix != suffix {
			return true
		}
	}
	return false
}

// Plan describes the containers that a Swarm replaces.
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
	lines := []string{"a swarm's secrets are immutable, so containers are replaced, one service after the other: " + strings.Join(order, ", ")}
	if len(units) > 0 {
		lines = append(lines, fmt.Sprintf("new containers of %s start empty, with their existing volumes: components are created again by the goal or, without one, by `toskose up`", strings.Join(units, ", ")))
	}
	if len(jobs) > 0 {
		lines = append(lines, "jobs that run again: "+strings.Join(jobs, ", "))
	}
	return lines, nil
}

// mountBothAtManager makes the manager accept old and new secrets, and use both with units.
func (r *Rotation) mountBothAtManager(ctx context.Context) error {
	manager, _, err := r.services(ctx)
	if err != nil {
		return err
	}
	secrets := maps.Clone(r.Secrets)
	maps.Copy(secrets, r.Shared)
	return r.mount(ctx, manager, secrets)
}

// mountNewAtManager leaves only the new secrets to the manager.
func (r *Rotation) mountNewAtManager(ctx context.Context) error {
	manager, _, err := r.services(ctx)
	if err != nil {
		return err
	}
	return r.mount(ctx, manager, r.Secrets)
}

// mount replaces the containers of a service, and waits for the Swarm to finish.
func (r *Rotation) mount(ctx context.Context, s Service, secrets map[string]output.Replacement) error {
	if s.needsUpdate(secrets) {
		r.say("replacing %s", s.Name)
	}
	if err := r.opts.Swarm.Mount(ctx, s.Name, secrets); err != nil || s.job() {
		return err
	}
	return r.poll(ctx, func(ctx context.Context) ([]string, error) { return r.pendingUpdate(ctx, s) })
}

func (r *Rotation) pendingUpdate(ctx context.Context, s Service) ([]string, error) {
	waits, err := r.opts.Swarm.Settled(ctx, s.Name)
	if waits == "" || err != nil {
		return nil, err
	}
	return []string{s.Name + ": " + waits}, nil
}

// poll repeats ask until it returns nothing to wait for, an error, or the time limit passes.
func (r *Rotation) poll(ctx context.Context, ask func(context.Context) (waits []string, err error)) error {
	limited, cancel := context.WithTimeout(ctx, r.opts.Timeout)
	defer cancel()
	var last []string
	for {
		if err := r.markInProgress(); err != nil {
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
			return errors.Join(ctx.Err(), fmt.Errorf("not done after %s: %s", r.opts.Timeout, strings.Join(last, "; ")))
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

// replace drains a service and replaces its containers, and returns when the goal has restored
// their components.
func (r *Rotation) replace(ctx context.Context, s Service) (err error) {
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if failed := r.opts.Components.Undrain(end, s.Node); err == nil {
			err = failed
		}
	}()
	if s.needsUpdate(r.Secrets) {
		if err := r.drain(ctx, s); err != nil {
			return err
		}
	}
	r.say("replacing %s", s.Name)
	if err := r.opts.Swarm.Mount(ctx, s.Name, r.Secrets); err != nil {
		return err
	}
	before := r.Before[s.Node]
	err = r.poll(ctx, func(ctx context.Context) ([]string, error) {
		_, _ = r.opts.Components.Drain(ctx, s.Node) // otherwise the drain expires
		if waits, err := r.pendingUpdate(ctx, s); len(waits) > 0 || err != nil {
			return waits, err
		}
		state, err := r.opts.Ask(ctx)
		if err != nil {
			return []string{err.Error()}, nil //nolint:nilerr // retried until the time limit
		}
		if missing := r.notReplaced(state, s.Node); len(missing) > 0 {
			return missing, nil
		}
		return r.notRestored(ctx, s.Node, before), nil
	})
	if err == nil {
		r.say("%s runs with the new secrets", s.Name)
	}
	return err
}

// drain waits until no operation runs on a node, and none can start. A component that a user
// has just stopped may be part of a restart.
func (r *Rotation) drain(ctx context.Context, s Service) error {
	if err := r.opts.Components.Undrain(ctx, s.Node); err != nil { // another command may have drained the previous containers
		return err
	}
	return r.poll(ctx, func(ctx context.Context) ([]string, error) {
		waits, err := r.opts.Components.Drain(ctx, s.Node)
		if err != nil || len(waits) > 0 {
			return waits, err
		}
		now, err := r.opts.Components.State(ctx, s.Node)
		if err != nil {
			return nil, err
		}
		if len(now.Changing) > 0 {
			return now.Changing, r.opts.Components.Undrain(ctx, s.Node)
		}
		if r.Before == nil {
			r.Before = map[string]NodeState{}
		}
		r.Before[s.Node] = now
		return nil, r.save()
	})
}

// notRestored lists the components of a node that the goal has not restored.
func (r *Rotation) notRestored(ctx context.Context, node string, before NodeState) (names []string) {
	now, err := r.opts.Components.State(ctx, node)
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

// reportRecreated prints the components in replaced containers.
func (r *Rotation) reportRecreated() {
	var names []string
	goal := false
	for _, s := range r.Before {
		names, goal = append(names, s.Created...), goal || s.Goal
	}
	slices.Sort(names)
	switch names = slices.Compact(names); {
	case len(names) == 0:
	case goal:
		r.say("created again in new containers, by the goal: %s", strings.Join(names, ", "))
	default:
		r.say("in new containers, to be created again: %s; run `toskose up`", strings.Join(names, ", "))
	}
}

// removeOldSwarmSecrets removes secrets that no service mounts any more.
func (r *Rotation) removeOldSwarmSecrets(ctx context.Context) error {
	old := map[string][]string{}
	for name, s := range r.Secrets {
		old[name] = append(old[name], s.Before)
	}
	for name, s := range r.Shared {
		old[name] = append(old[name], s.Suffix)
	}
	return r.opts.Swarm.Tidy(ctx, old)
}
