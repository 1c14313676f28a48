package grammar

import (
	"fmt"

	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/source"
)

func (r *reader) groups(t *Topology, n *source.Node) {
	r.byName(n, "groups", func(k, v *source.Node) {
		g := &Group{Name: k.Text, Pos: k.Pos()}
		t.Groups = append(t.Groups, g)
		of := fmt.Sprintf("group %q", g.Name)
		r.assigning(v, of, []field{
			{"type", r.setRef(&g.Type, of+": type"), everyVersion},
			{"members", r.setRefs(&g.Members, of+": members"), everyVersion},
			{"targets", r.setRefs(&g.Members, of+": targets"), first}, // as drafts of 1.0 have it
			{"properties", r.setAssignments(&g.Properties, of+": properties"), everyVersion},
			{"attributes", r.setAssignments(&g.Attributes, of+": attributes"), everyVersion},
			{"interfaces", func(n *source.Node) { g.Interfaces = r.interfaces(n, of) }, first},
		})
		if g.Type.Name == "" {
			r.missing(v, g.Pos, "type", of)
		}
	})
}

func (r *reader) policies(t *Topology, n *source.Node) {
	names := map[string]bool{}
	r.entries(n, "policies", func(k, v *source.Node) {
		p := &Policy{Name: k.Text, Pos: k.Pos()}
		t.Policies = append(t.Policies, p)
		of := fmt.Sprintf("policy %q", p.Name)
		if names[p.Name] {
			r.Errorf(p.Pos, code.Together, "%s is here twice", of)
		}
		names[p.Name] = true
		r.assigning(v, of, []field{
			{"type", r.setRef(&p.Type, of+": type"), everyVersion},
			{"targets", r.setRefs(&p.Targets, of+": targets"), everyVersion},
			{"properties", r.setAssignments(&p.Properties, of+": properties"), everyVersion},
			{"triggers", func(n *source.Node) { p.Triggers = r.triggers(n, of) }, everyVersion},
		})
		if p.Type.Name == "" {
			r.missing(v, k.Pos(), "type", of)
		}
	})
}

// triggers reads what policies watch for, and what they do then (TOSCA 1.3,
// 3.6.22; 2.0, 16.5). 1.0 to 1.2 say with the trigger what 1.3 says with its
// condition.
func (r *reader) triggers(n *source.Node, of string) []*Trigger {
	var all []*Trigger
	r.definitions(n, of+": triggers", func(k, v *source.Node) {
		t := &Trigger{Name: k.Text, Pos: k.Pos()}
		all = append(all, t)
		of := fmt.Sprintf("%s: trigger %q", of, t.Name)
		event := func(n *source.Node) { t.Event = r.event(n, of+": event") }
		r.fields(v, of, []field{
			{"event", event, everyVersion},
			{"event_type", event, first},
			{"schedule", r.setMap(&t.Schedule, of+": schedule"), first},
			{"target_filter", func(n *source.Node) { t.Target = r.eventFilter(n, of+": target_filter") }, first},
			{"condition", setNode(&t.Condition), everyVersion},
			{"constraint", ignored, first},
			{"period", setNode(&t.Period), first},
			{"evaluations", setNode(&t.Evaluations), first},
			{"method", setNode(&t.Method), first},
			{"action", func(n *source.Node) { t.Action = r.actions(n, of+": action") }, everyVersion},
		})
		if t.Event.Name == "" {
			r.Errorf(t.Pos, code.Untyped, "%s has no event", of)
		}
		switch action := v.Get("action"); {
		case v.Kind == source.Map && action == nil && len(t.Action) == 0:
			r.Errorf(t.Pos, code.Untyped, "%s has no action", of)
		case r.doc.V2() && action != nil && len(t.Action) == 0:
			r.lacksActivities(action, t.Pos, of+" has no action")
		}
	})
	return all
}

// event reads the name of an event, or what 1.0 has in its place: a type with
// what implements it.
func (r *reader) event(n *source.Node, of string) Ref {
	if n.Kind == source.Map && !r.doc.V2() {
		if typ := n.Get("type"); typ != nil {
			return r.ref(typ, of)
		}
	}
	return r.ref(n, of)
}

// actions reads activities, or what 1.0 to 1.2 have in their place: the name of
// an operation, or one defined in place.
func (r *reader) actions(n *source.Node, of string) []*Activity {
	if r.doc.V2() || n.Kind == source.List {
		return r.activities(n, of)
	}
	if n.Kind != source.Map {
		r.text(n, of)
		return nil
	}
	before := r.assigns
	r.assigns = true
	for k, v := range n.Pairs() {
		if !inPlace[k.Text] {
			r.operation(k, v, of, "operation")
		}
	}
	r.assigns = before
	return nil
}

// inPlace are the keywords of what may stand in the place of an operation by its
// name: the operation itself, or an activity.
var inPlace = map[string]bool{
	"description": true, "implementation": true, "inputs": true, "outputs": true,
	"call_operation": true, "delegate": true, "inline": true, "set_state": true,
}

func (r *reader) eventFilter(n *source.Node, of string) *EventFilter {
	f := &EventFilter{Pos: n.Pos()}
	r.fields(n, of, []field{
		{"node", r.setRef(&f.Node, of+": node"), everyVersion},
		{"requirement", r.setRef(&f.Requirement, of+": requirement"), first},
		{"capability", r.setRef(&f.Capability, of+": capability"), everyVersion},
	})
	if f.Node.Name == "" {
		r.missing(n, f.Pos, "node", of)
	}
	return f
}
