package check

import (
	"slices"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/inherit"
	"github.com/toskose/toskose/tosca/internal/resolve"
	"github.com/toskose/toskose/tosca/internal/source"
)

// checkWorkflows checks what imperative workflows name.
func checkWorkflows(g *resolve.Graph) {
	for _, w := range g.Topo.Workflows {
		of := "workflow " + quote(w.Name)
		declareParameters(g, w.Inputs, g.Doc, of+": input")
		f := flow{g, workflowInputs(g, w)}
		for _, c := range w.Preconditions {
			f.checkPrecondition(c, of)
		}
		steps := make(map[string]bool, len(w.Steps))
		for _, step := range w.Steps {
			steps[step.Name] = true
		}
		for _, step := range w.Steps {
			f.checkStep(step, w, steps, of+": step "+quote(step.Name))
		}
		for _, p := range w.Outputs {
			checkMapping(g, p.Mapping, data.From(p, g.Doc), data.Place{Of: of + ": output " + quote(p.Name), Doc: g.Doc, Self: data.Anything})
		}
	}
	checkInlined(g)
}

// flow checks what stands in a workflow, or in a trigger, which does what a step
// does.
type flow struct {
	*resolve.Graph
	own map[string]*data.Definition // inputs of the workflow; nil for a trigger
}

func workflowInputs(g *resolve.Graph, w *grammar.Workflow) map[string]*data.Definition {
	if !g.Spend(len(w.Inputs)) {
		return nil
	}
	defs := make(map[string]*data.Definition, len(w.Inputs))
	for _, p := range w.Inputs {
		defs[p.Name] = data.From(p, g.Doc)
	}
	return defs
}

// inFlow is a place inside of the workflow that is looked at.
func (f flow) inFlow(p data.Place) data.Place {
	p.Inputs = f.own
	return p
}

func (f flow) checkPrecondition(c *grammar.Precondition, of string) {
	of += ": precondition"
	n := flowTarget(f.Graph, c.Target, of)
	checkTargetRelation(f.Graph, c.TargetRelation, c.Target, n, of)
	p := f.inFlow(data.Place{Of: of, Doc: f.Doc, Self: selfOf(n)})
	condition(f.Graph, c.Condition, p)
}

// selfOf is what SELF means where a node is meant, if it is known.
func selfOf(n *resolve.Node) data.Entity {
	if n == nil {
		return data.Anything
	}
	return n
}

// flowTarget finds the node that a step is for; nil where it is a group, or
// where there is none, which is reported.
func flowTarget(g *resolve.Graph, ref grammar.Ref, of string) *resolve.Node {
	if ref.Name == "" {
		return nil
	}
	n := g.ByName[ref.Name]
	if n == nil && g.Groups[ref.Name] == nil {
		g.Unknown(ref.Pos, code.FlowTarget, ref.Name, g.TemplateNames(resolve.AnyNode), "%s names %q, which is not in the topology", of, ref.Name)
	}
	return n
}

// checkTargetRelation checks the requirement of a node that a step is for.
func checkTargetRelation(g *resolve.Graph, ref, to grammar.Ref, n *resolve.Node, of string) {
	if ref.Name != "" && n == nil && g.Doc.V2() && g.Groups[to.Name] != nil {
		g.Errorf(ref.Pos, code.FlowTarget, "%s names requirement %q of %q, which is a group", of, ref.Name, to.Name)
	}
	if ref.Name == "" || n == nil || n.Typ == nil || n.Typ.Requirement(ref.Name) != nil || g.Relations[ref.Name] != nil {
		return
	}
	if n.Doc.Scope().Lookup(grammar.RelationshipType, ref.Name) != nil {
		return // 1.x is not clear about which of the two it is
	}
	g.Unknown(ref.Pos, code.FlowTarget, ref.Name, inherit.Candidates(g, n.Typ.ByName), "%s names requirement %q, which %s does not have", of, ref.Name, n.Of())
}

func (f flow) checkStep(step *grammar.Step, w *grammar.Workflow, steps map[string]bool, of string) {
	n := flowTarget(f.Graph, step.Target, of)
	checkTargetRelation(f.Graph, step.TargetRelation, step.Target, n, of)
	f.checkStepFilter(step.Filter, f.inFlow(data.Place{Of: of + ": filter", Doc: f.Doc, Self: selfOf(n)}))
	for _, ref := range append(slices.Clone(step.OnSuccess), step.OnFailure...) {
		if !steps[ref.Name] {
			f.Unknown(ref.Pos, code.FlowStep, ref.Name, stepNames(f.Graph, w), "%s is followed by %q, which is not a step of the workflow", of, ref.Name)
		}
	}
	if !f.Doc.V2() { // which has no such keyword
		f.checkHost(step, of)
	}
	var targets []*resolve.Node
	switch g := f.Groups[step.Target.Name]; {
	case n != nil:
		targets = []*resolve.Node{n}
	case g != nil:
		targets = f.Members(g.Group)
	}
	f.checkActivities(step.Activities, of, targets, step.TargetRelation.Name)
}

// checkHost checks where the operations of a step run: at an end of the relationship
// that it is for, or on a node (TOSCA 1.3, 3.6.27.1).
func (f flow) checkHost(step *grammar.Step, of string) {
	host, ends := step.Host.Name, []string{"SOURCE", "TARGET"}
	if step.TargetRelation.Name == "" {
		if f.ByName[host] != nil || f.Doc.Scope().Open() || f.Doc.Scope().Lookup(grammar.NodeType, host) != nil {
			return
		}
		ends = f.TemplateNames(resolve.AnyNode)
		if f.Groups[step.Target.Name] == nil {
			ends = append(ends, "SELF", "HOST", "ORCHESTRATOR", "SOURCE", "TARGET")
		}
	}
	if host != "" && !slices.Contains(ends, host) {
		f.Unknown(step.Host.Pos, code.FlowHost, host, ends, "%s: its operations cannot run on operation_host %q", of, host)
	}
}

// stepNames lists the steps of a workflow, as long as one of them may be
// suggested.
func stepNames(g *resolve.Graph, w *grammar.Workflow) []string {
	if !g.Suggesting() {
		return nil
	}
	names := make([]string, len(w.Steps))
	for i, step := range w.Steps {
		names[i] = step.Name
	}
	return names
}

// checkStepFilter checks a list of conditions; that of 1.x is one clause.
func (f flow) checkStepFilter(filter *source.Node, p data.Place) {
	if filter == nil || !f.Doc.V2() {
		condition(f.Graph, filter, p)
		return
	}
	if filter.Kind != source.List {
		f.Errorf(filter.Pos(), code.Shape, "%s must be a list of conditions", p.Of)
		return
	}
	for _, item := range filter.Items {
		condition(f.Graph, item, p)
	}
}

// checkActivities checks the operations and workflows that activities name.
// One of the targets must have an operation, or the relationship of one by a
// requirement; where nothing is known of a target, it may have any.
func (f flow) checkActivities(all []*grammar.Activity, of string, targets []*resolve.Node, requirement string) {
	for _, a := range all {
		if a.State != nil {
			checkValue(f.Graph, a.State, "string", f.inFlow(data.Place{Of: of + ": set_state", Doc: f.Doc, Self: data.Anything}))
		}
		if a.Ref.Name == "" {
			continue // the grammar says so
		}
		switch a.Kind {
		case grammar.CallOperation:
			f.checkCall(a, of, targets, requirement)
		case grammar.InlineFlow:
			w := f.Workflows[a.Ref.Name]
			if w == nil {
				f.Unknown(a.Ref.Pos, code.FlowUnknown, a.Ref.Name, inherit.Candidates(f.Graph, f.Workflows), "%s inlines workflow %q, which is not there", of, a.Ref.Name)
				continue
			}
			f.checkFlowInputs(a, w, of)
		case grammar.Delegate, grammar.SetState:
		}
	}
}

// checkFlowInputs checks the inputs that a workflow is inlined with.
func (f flow) checkFlowInputs(a *grammar.Activity, w *grammar.Workflow, of string) {
	defs := workflowInputs(f.Graph, w)
	if f.Spent() {
		return
	}
	for _, p := range a.Inputs {
		at := f.inFlow(data.Place{Of: of + ": input " + quote(p.Name) + " of workflow " + quote(w.Name), Doc: f.Doc, Self: data.Anything})
		if defs[p.Name] == nil {
			f.Unknown(p.Pos, code.FlowInput, p.Name, inherit.Candidates(f.Graph, defs), "%s: workflow %q has no input %q", of, w.Name, p.Name)
			continue
		}
		checkInput(f.Graph, inherit.Parameter{Def: defs[p.Name]}, p, at)
	}
}

// checkCall checks interface.operation.
func (f flow) checkCall(a *grammar.Activity, of string, targets []*resolve.Node, requirement string) {
	called, err := protocol.ParseOperation(a.Ref.Name)
	if err != nil {
		f.Errorf(a.Ref.Pos, code.FlowCall, "%s calls %q, which is not the name of an interface and an operation, as in \"Standard.start\"", of, a.Ref.Name)
		return
	}
	face, op := called.Interface, called.Name
	if requirement != "" && len(targets) == 1 && f.Doc.V2() && !f.mayRelate(targets[0], requirement, face, op) {
		f.Errorf(a.Ref.Pos, code.FlowCall, "%s calls operation %q, which the relationship by %q does not have", of, a.Ref.Name, requirement)
	}
	if requirement != "" || len(targets) == 0 {
		return
	}
	if face == "tosca.interfaces.node.lifecycle.Standard" || face == "tosca:Standard" {
		face = "Standard"
	}
	var names []string
	for _, n := range targets {
		if n.Typ == nil || !f.Spend(1+len(n.Interfaces)) {
			return
		}
		faces := f.Interfaces(n)
		if i := inherit.Find(faces, face, n.Doc); i != nil && (i.Vague || i.Operations[op] != nil) {
			if made := i.Operations[op]; made != nil {
				for _, p := range a.Inputs {
					at := f.inFlow(n.Place(of + ": input " + quote(p.Name)))
					if !f.Doc.V2() { // whether SELF is the node or what calls, 1.x does not say
						at.Self = data.Anything
					}
					checkInput(f.Graph, made.Inputs[p.Name], p, at)
				}
				f.lacksInputs(a, made, of)
				inputs := &grammar.Interface{Operations: []*grammar.Operation{{Name: op, Inputs: a.Inputs}}}
				notFixed(f.Graph, inputs, inherit.Find(f.TypeInterfaces(n.Typ.Type), face, n.Doc), f.Doc, of)
			}
			return
		}
		if !f.Suggesting() {
			continue
		}
		for name, i := range faces {
			for _, op := range inherit.Keys(i.Operations) {
				names = append(names, protocol.Operation{Interface: name, Name: op}.String())
			}
		}
	}
	slices.Sort(names)
	f.Unknown(a.Ref.Pos, code.FlowCall, a.Ref.Name, names, "%s calls operation %q, which %s does not have", of, a.Ref.Name, targets[0].Of())
}

// mayRelate reports whether the relationships that a node has by a requirement may
// have an operation (TOSCA 2.0, 13.2.2).
func (f flow) mayRelate(n *resolve.Node, requirement, face, op string) bool {
	if n.Typ == nil || n.Typ.Requirement(requirement) == nil || !f.Spend(1+len(n.Edges)) {
		return true
	}
	types := []*grammar.Type{n.Typ.Requirement(requirement).Relation}
	for _, e := range slices.Concat(n.Edges, n.Unmet) {
		if e.Name == requirement {
			types = append(types, e.Relation)
		}
	}
	return slices.ContainsFunc(types, func(t *grammar.Type) bool {
		made := f.Inherit(t)
		if made == nil || !made.Whole {
			return true
		}
		i := f.TypeInterfaces(made)[face]
		return i != nil && (i.Vague || i.Operations[op] != nil)
	})
}

// lacksInputs warns of what an operation requires and a call does not give it.
func (f flow) lacksInputs(a *grammar.Activity, made *inherit.Operation, of string) {
	for _, name := range inherit.Keys(made.Inputs) {
		p := made.Inputs[name]
		given := slices.ContainsFunc(a.Inputs, func(p *grammar.Property) bool { return p.Name == name })
		if !given && p.Def != nil && p.Def.Required && p.Value.IsNull() && p.Def.Fallback().IsNull() && p.Def.TypeName() != "" {
			f.Warnf(a.Ref.Pos, code.OpMissing, "%s calls %q without input %q, which is required", of, a.Ref.Name, name)
		}
	}
}

// checkInlined reports the workflows that inline themselves.
func checkInlined(g *resolve.Graph) {
	var way []*grammar.Workflow
	done := map[*grammar.Workflow]bool{}
	var visit func(w *grammar.Workflow)
	visit = func(w *grammar.Workflow) {
		if i := slices.Index(way, w); i >= 0 {
			for _, member := range way[i:] {
				g.Errorf(member.Pos, code.FlowCycle, "workflow %q inlines itself", member.Name)
			}
		}
		if done[w] || !g.Spend(1+len(way)) {
			return
		}
		way, done[w] = append(way, w), true
		for _, step := range w.Steps {
			for _, a := range step.Activities {
				if next := g.Workflows[a.Ref.Name]; a.Kind == grammar.InlineFlow && next != nil {
					visit(next)
				}
			}
		}
		way = way[:len(way)-1]
	}
	for _, w := range g.Topo.Workflows {
		visit(w)
	}
}
