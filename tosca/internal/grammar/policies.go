package grammar

import (
	"fmt"
	"slices"

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

// workflows reads imperative workflows (TOSCA 1.3, 3.8.7; 2.0, 13.2).
func (r *reader) workflows(t *Topology, n *source.Node) {
	r.byName(n, "workflows", func(k, v *source.Node) {
		w := &Workflow{Name: k.Text, Pos: k.Pos()}
		t.Workflows = append(t.Workflows, w)
		of := fmt.Sprintf("workflow %q", w.Name)
		r.fields(v, of, []field{
			{"inputs", func(n *source.Node) { w.Inputs = r.inputs(n, of+": inputs") }, everyVersion},
			{"preconditions", func(n *source.Node) { w.Preconditions = r.preconditions(n, of) }, first},
			{"precondition", func(n *source.Node) {
				w.Preconditions = []*Precondition{{Pos: n.Pos(), Condition: n}}
			}, second},
			{"steps", func(n *source.Node) { w.Steps = r.steps(n, of) }, everyVersion},
			{"implementation", func(n *source.Node) {
				w.Implementation = &Operation{Pos: n.Pos(), File: r.doc.File}
				r.implementation(w.Implementation, n, of+": implementation")
			}, everyVersion},
			{"outputs", func(n *source.Node) { w.Outputs = r.mappings(n, of+": outputs") }, everyVersion},
		})
		if len(w.Steps) > 0 && w.Implementation != nil {
			r.Errorf(w.Implementation.Pos, code.Together, "%s has steps and an implementation, and may have one of them only", of)
		}
	})
}

func (r *reader) preconditions(n *source.Node, of string) []*Precondition {
	var all []*Precondition
	of += ": precondition"
	r.items(n, of+"s", func(item *source.Node) {
		p := &Precondition{Pos: item.Pos()}
		all = append(all, p)
		r.fields(item, of, []field{
			{"target", r.setRef(&p.Target, of+": target"), everyVersion},
			{"target_relationship", r.setRef(&p.TargetRelation, of+": target_relationship"), everyVersion},
			{"condition", setNode(&p.Condition), everyVersion},
		})
		if p.Target.Name == "" {
			r.Errorf(p.Pos, code.Untyped, "%s has no target", of)
		}
	})
	return all
}

func (r *reader) steps(n *source.Node, of string) []*Step {
	var all []*Step
	r.byName(n, of+": steps", func(k, v *source.Node) {
		s := &Step{Name: k.Text, Pos: k.Pos()}
		all = append(all, s)
		of := fmt.Sprintf("%s: step %q", of, s.Name)
		r.fields(v, of, []field{
			{"target", r.setRef(&s.Target, of+": target"), everyVersion},
			{"target_group", r.setRef(&s.Target, of+": target_group"), first}, // of 1.1
			{"target_relationship", r.setRef(&s.TargetRelation, of+": target_relationship"), everyVersion},
			{"operation_host", r.setRef(&s.Host, of+": operation_host"), first},
			{"filter", setNode(&s.Filter), everyVersion},
			{"activities", func(n *source.Node) { s.Activities = r.activities(n, of+": activities") }, everyVersion},
			{"on_success", func(n *source.Node) { s.OnSuccess = r.refs(n, of+": on_success") }, everyVersion},
			{"on_failure", func(n *source.Node) { s.OnFailure = r.refs(n, of+": on_failure") }, everyVersion},
		})
		r.stepLacks(s, v, of)
	})
	return all
}

// stepLacks reports what a step must have: activities, and a target, which steps of
// 1.x that only inline workflows, or are there for their order, need not have (TOSCA
// 1.3, 7.3.1.1 and 7.3.4.1).
func (r *reader) stepLacks(s *Step, n *source.Node, of string) {
	acts := slices.ContainsFunc(s.Activities, func(a *Activity) bool { return a.Kind != InlineFlow })
	if s.Target.Name == "" && (acts || r.doc.V2()) {
		r.Errorf(s.Pos, code.Untyped, "%s has no target", of)
	}
	if len(s.Activities) == 0 {
		r.lacksActivities(n.Get("activities"), s.Pos, of+" has no activities")
	}
}

// lacksActivities reports that nothing is to be done. In 2.0 the keyword must be
// there, and nothing says that its list cannot be empty; what is wrong with what
// it has was said (TOSCA 2.0, 13.2.2 and 16.5).
func (r *reader) lacksActivities(written *source.Node, pos diag.Position, sentence string) {
	switch {
	case r.doc.V2() && written.IsNull():
		r.Errorf(pos, code.Untyped, "%s", sentence)
	case !r.doc.V2() || written.Kind == source.List && len(written.Items) == 0:
		r.Warnf(pos, code.Untyped, "%s", sentence)
	}
}

// activityKey is what each kind of activity names in its long form.
var activityKey = map[ActivityKind]string{Delegate: "workflow", CallOperation: "operation", InlineFlow: "workflow", SetState: "state"}

var activityNames = []string{string(Delegate), string(SetState), string(CallOperation), string(InlineFlow)}

// activities reads what a step or trigger does, each by a name or by that and
// inputs (TOSCA 1.3, 3.6.23; 2.0, 13.2.3).
func (r *reader) activities(n *source.Node, of string) []*Activity {
	var all []*Activity
	r.items(n, of, func(item *source.Node) {
		if item.Kind != source.Map || len(item.Keys) != 1 {
			r.Errorf(item.Pos(), code.Shape, "%s: each activity must be its kind and what it is for", of)
			return
		}
		k, v := item.Keys[0], item.Items[0]
		a := &Activity{Kind: ActivityKind(k.Text), Pos: k.Pos()}
		key, known := activityKey[a.Kind]
		if !known {
			r.Unknown(k.Pos(), code.Keyword, k.Text, activityNames, "%s: unknown activity %q", of, k.Text)
			return
		}
		all = append(all, a)
		of := of + ": " + k.Text
		if a.Kind == SetState && r.isCall(v) {
			a.State = v
			return
		}
		if v.Kind != source.Map || a.Kind == SetState && r.doc.V2() {
			a.Ref = r.ref(v, of)
		} else {
			r.fields(v, of, []field{
				{key, r.setRef(&a.Ref, of+": "+key), everyVersion},
				{"inputs", func(n *source.Node) { a.Inputs = r.values(n, of+": inputs") }, everyVersion},
			})
		}
		if a.Ref.Name == "" && (v.Kind == source.Map) == (a.Kind != SetState || !r.doc.V2()) || v.IsNull() {
			r.Errorf(a.Pos, code.Untyped, "%s names no %s", of, key)
		}
	})
	return all
}

// values reads a map of assignments.
func (r *reader) values(n *source.Node, of string) []*Property {
	var all []*Property
	r.byName(n, of, func(k, v *source.Node) {
		all = append(all, &Property{Name: k.Text, Pos: k.Pos(), Required: true, Value: v})
	})
	return all
}
