package grammar

import (
	"fmt"

	"github.com/toskose/toskose/tosca/diag"
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
			{"targets", r.setRefs(&g.Members, of+": targets"), first}, // as in drafts of 1.0
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
	seen := map[string]diag.Position{}
	r.entries(n, "policies", func(k, v *source.Node) {
		p := &Policy{Name: k.Text, Pos: k.Pos()}
		t.Policies = append(t.Policies, p)
		of := fmt.Sprintf("policy %q", p.Name)
		r.once(seen, p.Name, p.Pos, of)
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

// triggers reads the triggers of a policy (TOSCA 1.3, 3.6.22; 2.0, 16.5).
func (r *reader) triggers(n *source.Node, of string) []*Trigger {
	var all []*Trigger
	r.definitions(n, of+": triggers", func(k, v *source.Node) {
		t := &Trigger{Name: k.Text, Pos: k.Pos()}
		all = append(all, t)
		of := fmt.Sprintf("%s: trigger %q", of, t.Name)
		var acts activities
		named := false
		event := func(n *source.Node) { named = r.event(n, of+": event") != "" }
		r.fields(v, of, []field{
			{"event", event, everyVersion},
			{"event_type", event, first},
			{"schedule", func(n *source.Node) { r.assignments(n, of+": schedule") }, first},
			{"target_filter", func(n *source.Node) { t.Target = r.eventFilter(n, of+": target_filter") }, first},
			{"condition", ignored, everyVersion},
			{"constraint", ignored, first},
			{"period", ignored, first},
			{"evaluations", ignored, first},
			{"method", ignored, first},
			{"action", func(n *source.Node) { acts = r.actions(n, of+": action") }, everyVersion},
		})
		t.Inlined = acts.inlined
		if !named {
			r.Errorf(t.Pos, code.Untyped, "%s has no event", of)
		}
		switch action := v.Get("action"); {
		case v.Kind == source.Map && action == nil && acts.count == 0:
			r.Errorf(t.Pos, code.Untyped, "%s has no action", of)
		case r.doc.V2() && action != nil && acts.count == 0:
			r.lacksActivities(action, t.Pos, of+" has no action")
		}
	})
	return all
}

// event reads the name of an event, or in 1.0 a map with its type.
func (r *reader) event(n *source.Node, of string) string {
	if n.Kind == source.Map && !r.doc.V2() {
		if typ := n.Get("type"); typ != nil {
			return r.text(typ, of)
		}
	}
	return r.text(n, of)
}

// actions reads activities. In 1.0 to 1.2 an action may also be the name of an
// operation, or an operation defined in place.
func (r *reader) actions(n *source.Node, of string) activities {
	if r.doc.V2() || n.Kind == source.List {
		return r.activities(n, of)
	}
	if n.Kind != source.Map {
		r.text(n, of)
		return activities{}
	}
	before := r.assigns
	r.assigns = true
	for k, v := range n.Pairs() {
		if !inPlace[k.Text] {
			r.operation(k, v, of, "operation")
		}
	}
	r.assigns = before
	return activities{}
}

// inPlace are the keywords of operations and activities. Other keys of an action
// name an operation.
var inPlace = map[string]bool{
	"description": true, "implementation": true, "inputs": true, "outputs": true,
	"call_operation": true, "delegate": true, "inline": true, "set_state": true,
}

// eventFilter reads an event filter and returns the node that it names (TOSCA 1.3,
// 3.6.21).
func (r *reader) eventFilter(n *source.Node, of string) (node Ref) {
	var other Ref
	r.fields(n, of, []field{
		{"node", r.setRef(&node, of+": node"), everyVersion},
		{"requirement", r.setRef(&other, of+": requirement"), first},
		{"capability", r.setRef(&other, of+": capability"), everyVersion},
	})
	if node.Name == "" {
		r.missing(n, n.Pos(), "node", of)
	}
	return node
}

// workflows reads imperative workflows (TOSCA 1.3, 3.8.7; 2.0, 13.2).
func (r *reader) workflows(t *Topology, n *source.Node) {
	r.byName(n, "workflows", func(k, v *source.Node) {
		w := &Workflow{Name: k.Text, Pos: k.Pos()}
		t.Workflows = append(t.Workflows, w)
		of := fmt.Sprintf("workflow %q", w.Name)
		r.fields(v, of, []field{
			{"inputs", func(n *source.Node) { w.Inputs = r.inputs(n, of+": inputs") }, everyVersion},
			{"preconditions", func(n *source.Node) { w.Preconditions = r.preconditions(n, of) }, first},
			{"precondition", ignored, second},
			{"steps", func(n *source.Node) { w.Steps = r.steps(n, of) }, everyVersion},
			{"implementation", func(n *source.Node) { r.implementation(&Operation{File: r.doc.File}, n, of+": implementation") }, everyVersion},
			{"outputs", func(n *source.Node) { r.mappings(n, of+": outputs") }, everyVersion},
		})
		if implementation := v.Get("implementation"); len(w.Steps) > 0 && implementation != nil {
			r.Errorf(implementation.Pos(), code.Together, "%s has steps and an implementation, and may have one of them only", of)
		}
	})
}

// preconditions reads preconditions and returns their targets.
func (r *reader) preconditions(n *source.Node, of string) []Ref {
	var all []Ref
	of += ": precondition"
	r.items(n, of+"s", func(item *source.Node) {
		var target, relation Ref
		r.fields(item, of, []field{
			{"target", r.setRef(&target, of+": target"), everyVersion},
			{"target_relationship", r.setRef(&relation, of+": target_relationship"), everyVersion},
			{"condition", ignored, everyVersion},
		})
		if target.Name == "" {
			r.Errorf(item.Pos(), code.Untyped, "%s has no target", of)
		}
		all = append(all, target)
	})
	return all
}

func (r *reader) steps(n *source.Node, of string) []*Step {
	var all []*Step
	r.byName(n, of+": steps", func(k, v *source.Node) {
		s := &Step{Name: k.Text, Pos: k.Pos()}
		all = append(all, s)
		of := fmt.Sprintf("%s: step %q", of, s.Name)
		var acts activities
		var other Ref
		next := func(key string) func(*source.Node) {
			return func(n *source.Node) { s.Next = append(s.Next, r.refs(n, of+": "+key)...) }
		}
		r.fields(v, of, []field{
			{"target", r.setRef(&s.Target, of+": target"), everyVersion},
			{"target_group", r.setRef(&s.Target, of+": target_group"), first}, // of 1.1
			{"target_relationship", r.setRef(&other, of+": target_relationship"), everyVersion},
			{"operation_host", r.setRef(&other, of+": operation_host"), first},
			{"filter", ignored, everyVersion},
			{"activities", func(n *source.Node) { acts = r.activities(n, of+": activities") }, everyVersion},
			{"on_success", next("on_success"), everyVersion},
			{"on_failure", next("on_failure"), everyVersion},
		})
		s.Inlined = acts.inlined
		r.checkStep(s, acts, v, of)
	})
	return all
}

// checkStep reports a step without activities or target. In 1.x a step needs no
// target if it only inlines workflows or has no activities (TOSCA 1.3, 7.3.1.1 and
// 7.3.4.1).
func (r *reader) checkStep(s *Step, acts activities, n *source.Node, of string) {
	if s.Target.Name == "" && (acts.count > len(acts.inlined) || r.doc.V2()) {
		r.Errorf(s.Pos, code.Untyped, "%s has no target", of)
	}
	if acts.count == 0 {
		r.lacksActivities(n.Get("activities"), s.Pos, of+" has no activities")
	}
}

// lacksActivities reports a missing or empty list of activities. 2.0 requires the
// keyword, but allows an empty list (TOSCA 2.0, 13.2.2 and 16.5).
func (r *reader) lacksActivities(written *source.Node, pos diag.Position, sentence string) {
	switch {
	case r.doc.V2() && written.IsNull():
		r.Errorf(pos, code.Untyped, "%s", sentence)
	case !r.doc.V2() || written.Kind == source.List && len(written.Items) == 0:
		r.Warnf(pos, code.Untyped, "%s", sentence)
	}
}

// activityKey is the keyword of the long form of each kind of activity, which
// holds the name that the short form has.
var activityKey = map[string]string{"delegate": "workflow", "call_operation": "operation", "inline": "workflow", "set_state": "state"}

var activityNames = []string{"delegate", "set_state", "call_operation", "inline"}

// activities are the activities of a step or trigger.
type activities struct {
	count   int
	inlined []Ref // workflows, one for each inline activity
}

// activities reads a list of activities, each in its short form, a name, or in its
// long form (TOSCA 1.3, 3.6.23; 2.0, 13.2.3).
func (r *reader) activities(n *source.Node, of string) (all activities) {
	r.items(n, of, func(item *source.Node) {
		if item.Kind != source.Map || len(item.Keys) != 1 {
			r.Errorf(item.Pos(), code.Shape, "%s: each activity must be a map of its kind to its target", of)
			return
		}
		k, v := item.Keys[0], item.Items[0]
		key, known := activityKey[k.Text]
		if !known {
			r.Unknown(k.Pos(), code.Keyword, k.Text, activityNames, "%s: unknown activity %q", of, k.Text)
			return
		}
		all.count++
		of := of + ": " + k.Text
		setsState := k.Text == "set_state"
		if setsState && r.isCall(v) {
			return
		}
		var ref Ref
		if v.Kind != source.Map || setsState && r.doc.V2() {
			ref = r.ref(v, of)
		} else {
			r.fields(v, of, []field{
				{key, r.setRef(&ref, of+": "+key), everyVersion},
				{"inputs", func(n *source.Node) { r.byName(n, of+": inputs", func(_, _ *source.Node) {}) }, everyVersion},
			})
		}
		if ref.Name == "" && (v.Kind == source.Map) == (!setsState || !r.doc.V2()) || v.IsNull() {
			r.Errorf(k.Pos(), code.Untyped, "%s names no %s", of, key)
		}
		if k.Text == "inline" {
			all.inlined = append(all.inlined, ref)
		}
	})
	return all
}
