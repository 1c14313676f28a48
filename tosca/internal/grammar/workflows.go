package grammar

import (
	"fmt"
	"slices"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/source"
)

// workflows reads imperative workflows (TOSCA 1.3, 3.8.7; 2.0, 13.2).
func (r *reader) workflows(t *Topology, n *source.Node) {
	r.named(n, "workflows", func(k, v *source.Node) {
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
			r.Errorf(w.Implementation.Pos, codeTogether, "%s has steps and an implementation, and may have one of them only", of)
		}
	})
}

func (r *reader) preconditions(n *source.Node, of string) []*Precondition {
	var all []*Precondition
	of += ": precondition"
	r.listed(n, of+"s", func(item *source.Node) {
		p := &Precondition{Pos: item.Pos()}
		all = append(all, p)
		r.fields(item, of, []field{
			{"target", r.setRef(&p.Target, of+": target"), everyVersion},
			{"target_relationship", r.setRef(&p.TargetRelation, of+": target_relationship"), everyVersion},
			{"condition", setNode(&p.Condition), everyVersion},
			{"valid_states", setNode(&p.States), first}, // in an example (TOSCA 1.3, 7.3.6.1)
			{"attributes", r.setAssignments(&p.Attributes, of, ": attributes"), first},
		})
		if p.Target.Name == "" {
			r.Errorf(p.Pos, codeMissing, "%s has no target", of)
		}
	})
	return all
}

func (r *reader) steps(n *source.Node, of string) []*Step {
	var all []*Step
	r.named(n, of+": steps", func(k, v *source.Node) {
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

// stepLacks reports what a step must have. The text of 1.x asks for a target and
// activities, and its own examples leave both out of steps that are there for
// their order, and the target out of those that inline workflows, where they do
// more than that, too (TOSCA 1.3, 7.3.1.1 and 7.3.4.1).
func (r *reader) stepLacks(s *Step, n *source.Node, of string) {
	inlines := slices.ContainsFunc(s.Activities, func(a *Activity) bool { return a.Kind == InlineFlow })
	acts := slices.ContainsFunc(s.Activities, func(a *Activity) bool { return a.Kind != InlineFlow })
	switch {
	case s.Target.Name != "" || !acts && !r.second():
	case inlines && !r.second():
		r.Warnf(s.Pos, codeMissing, "%s has no target, so it is not said which node its other activities are for", of)
	default:
		r.Errorf(s.Pos, codeMissing, "%s has no target", of)
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
	case r.second() && written.IsNull():
		r.Errorf(pos, codeMissing, "%s", sentence)
	case !r.second() || written.Kind == source.List && len(written.Items) == 0:
		r.Warnf(pos, codeMissing, "%s", sentence)
	}
}

// activityKey is what each kind of activity names in its long form.
var activityKey = map[ActivityKind]string{Delegate: "workflow", CallOperation: "operation", InlineFlow: "workflow", SetState: "state"}

var activityNames = []string{string(Delegate), string(SetState), string(CallOperation), string(InlineFlow)}

// activities reads what a step or trigger does, each by a name or by that and
// inputs (TOSCA 1.3, 3.6.23; 2.0, 13.2.3).
func (r *reader) activities(n *source.Node, of string) []*Activity {
	var all []*Activity
	r.listed(n, of, func(item *source.Node) {
		if item.Kind != source.Map || len(item.Keys) != 1 {
			r.Errorf(item.Pos(), codeShape, "%s: each activity must be its kind and what it is for", of)
			return
		}
		k, v := item.Keys[0], item.Items[0]
		a := &Activity{Kind: ActivityKind(k.Text), Pos: k.Pos()}
		key, known := activityKey[a.Kind]
		if !known {
			r.Unknown(k.Pos(), codeKeyword, k.Text, activityNames, "%s: unknown activity %q", of, k.Text)
			return
		}
		all = append(all, a)
		of := of + ": " + k.Text
		if a.Kind == SetState && r.isCall(v) {
			a.State = v
			return
		}
		if v.Kind != source.Map || a.Kind == SetState && r.second() {
			a.Ref = r.ref(v, of)
		} else {
			r.fields(v, of, []field{
				{key, r.setRef(&a.Ref, of+": "+key), everyVersion},
				{"inputs", func(n *source.Node) { a.Inputs = r.values(n, of+": inputs") }, everyVersion},
			})
		}
		if a.Ref.Name == "" && (v.Kind == source.Map) == (a.Kind != SetState || !r.second()) || v.IsNull() {
			r.Errorf(a.Pos, codeMissing, "%s names no %s", of, key)
		}
	})
	return all
}

// values reads a map of assignments.
func (r *reader) values(n *source.Node, of string) []*Property {
	var all []*Property
	r.named(n, of, func(k, v *source.Node) {
		all = append(all, &Property{Name: k.Text, Pos: k.Pos(), Required: true, Value: v})
	})
	return all
}
