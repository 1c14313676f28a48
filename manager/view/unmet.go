package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/manager/topology"
)

func sentences(all []rest.Lack) string {
	texts := make([]string, len(all))
	for i, l := range all {
		texts[i] = l.String()
	}
	return strings.Join(texts, "; ")
}

// explain adds the provider's state to each unmet requirement.
func (r *Rules) explain(s goal.Situation, found []goal.Lack) []rest.Lack {
	var all []rest.Lack
	for _, l := range found {
		all = append(all, rest.Lack{
			Component: l.Component, Requirement: l.Requirement, Provider: l.Provider, Capability: l.Capability, Why: r.why(s, l),
		})
	}
	return all
}

func (r *Rules) why(s goal.Situation, l goal.Lack) string {
	node, isComponent := r.model.Node[l.Provider]
	if !isComponent {
		return fmt.Sprintf("%q does not run", l.Provider)
	}
	var states []string
	for i := range s.Replicas {
		at := &s.Replicas[i]
		if at.Node != node {
			continue
		}
		state := fmt.Sprintf("in state %q", at.Components[l.Provider].State)
		if at.Unknown || at.Components[l.Provider].State == "" {
			state = "unknown, because its unit does not answer"
		} else if at.Components[l.Provider].Failing {
			state += " and fails its liveness checks"
		}
		if !slices.Contains(states, state) {
			states = append(states, state)
		}
	}
	if states == nil {
		return fmt.Sprintf("its container %q has no replica", node)
	}
	return fmt.Sprintf("%q is %s", l.Provider, strings.Join(states, " and "))
}

// unmetNow returns a component's unmet requirements in its current state on a replica.
func (r *Rules) unmetNow(s goal.Situation, at *goal.Replica, component string) []rest.Lack {
	return r.unmet(s, at, component, r.model.Requires(component, at.Components[component].State))
}

func (r *Rules) unmet(s goal.Situation, at *goal.Replica, component string, requirements []string) []rest.Lack {
	if len(requirements) == 0 || at.Unknown {
		return nil
	}
	return r.explain(s, r.model.Lacking(s, at, component, requirements))
}

// UnmetOfUsers returns the unmet requirements of a component's users, on any replica.
func (l Look) UnmetOfUsers(component string) []rest.Lack {
	return l.rules.unmetOfUsers(l.settled, component)
}

func (r *Rules) unmetOfUsers(s goal.Situation, component string) []rest.Lack {
	var all []rest.Lack
	for _, user := range r.model.Users(component) {
		for i := range s.Replicas {
			if at := &s.Replicas[i]; at.Node == r.model.Node[user] {
				all = merge(all, r.unmetNow(s, at, user))
			}
		}
	}
	return all
}

// merge adds the entries of more that are not in all.
func merge(all, more []rest.Lack) []rest.Lack {
	for _, l := range more {
		if !slices.ContainsFunc(all, l.Same) {
			all = append(all, l)
		}
	}
	return all
}

// Added returns the entries of after that are not in before.
func Added(before, after []rest.Lack) []rest.Lack {
	return slices.DeleteFunc(after, func(l rest.Lack) bool { return slices.ContainsFunc(before, l.Same) })
}

// allowed returns the operations that may start now: the ones that the component's own protocol allows, as its
// unit decides. Operations with unmet requirements are returned as blocked instead.
func (l Look) allowed(c *topology.Component, at *mirror.Replica, known *mirror.Component) (names []string, blocked map[string][]rest.Lack) {
	choice := c.Choice(known)
	for _, step := range choice.Steps {
		name := step.Operation.String()
		if lacks := l.rules.unmet(l.settled, l.of(at), c.Name(), l.rules.model.Needed(c.Name(), step)); lacks != nil {
			if blocked == nil {
				blocked = map[string][]rest.Lack{}
			}
			blocked[name] = lacks
		}
	}
	if blocked == nil {
		return choice.Names, nil
	}
	names = []string{}
	for _, name := range choice.Names {
		if blocked[name] == nil {
			names = append(names, name)
		}
	}
	return names, blocked
}
