package resolve

import (
	"slices"
	"strings"

	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

// checkWorkflows checks what imperative workflows name.
func (s *Service) checkWorkflows() {
	s.indexWorkflows()
	for _, w := range s.Topo.Workflows {
		of := "workflow " + quote(w.Name)
		s.declareParameters(w.Inputs, s.Doc, of+": input")
		s.own = s.workflowInputs(w)
		for _, c := range w.Preconditions {
			s.checkPrecondition(c, of)
		}
		steps := make(map[string]bool, len(w.Steps))
		for _, step := range w.Steps {
			steps[step.Name] = true
		}
		for _, step := range w.Steps {
			s.checkStep(step, w, steps, of+": step "+quote(step.Name))
		}
		s.own = nil
		for _, p := range w.Outputs {
			s.checkMapping(p.Mapping, data.From(p, s.Doc), data.Place{Of: of + ": output " + quote(p.Name), Doc: s.Doc, Self: data.Anything})
		}
	}
	s.checkInlined()
}

func (s *Service) workflowInputs(w *grammar.Workflow) map[string]*data.Definition {
	if !s.Spend(len(w.Inputs)) {
		return nil
	}
	defs := make(map[string]*data.Definition, len(w.Inputs))
	for _, p := range w.Inputs {
		defs[p.Name] = data.From(p, s.Doc)
	}
	return defs
}

// flowInput answers for an input that only workflows have: an operation of a node
// may read it, and gets what the workflow that calls it was given (TOSCA 1.3,
// 7.3.6). Whoever packages or plans an application has no workflow.
func (s *Service) flowInput(name string) (data.Value, data.Answer) {
	if second(s.Doc) || !s.opts.Draft {
		return data.Value{}, data.Missing
	}
	if s.flowInputs == nil {
		s.flowInputs = map[string]*grammar.Property{}
		for _, w := range s.Topo.Workflows {
			for _, p := range w.Inputs {
				if s.flowInputs[p.Name] == nil { // of several, the first
					s.flowInputs[p.Name] = p
				}
			}
		}
	}
	if p := s.flowInputs[name]; p != nil {
		return data.Value{Def: data.From(p, s.Doc)}, data.Open
	}
	return data.Value{}, data.Missing
}

// inFlow is a place inside of the workflow that is looked at.
func (s *Service) inFlow(p data.Place) data.Place {
	p.Inputs = s.own
	return p
}

func (s *Service) indexWorkflows() {
	if s.flows != nil {
		return
	}
	s.flows = make(map[string]*grammar.Workflow, len(s.Topo.Workflows))
	for _, w := range s.Topo.Workflows {
		s.flows[w.Name] = w
	}
}

func (s *Service) checkPrecondition(c *grammar.Precondition, of string) {
	of += ": precondition"
	n := s.flowTarget(c.Target, of)
	s.checkTargetRelation(c.TargetRelation, c.Target, n, of)
	p := s.inFlow(data.Place{Of: of, Doc: s.Doc, Self: selfOf(n)})
	s.condition(c.Condition, p)
	s.checkStates(c, p)
}

// selfOf is what SELF means where a node is meant, if it is known.
func selfOf(n *Node) data.Entity {
	if n == nil {
		return data.Anything
	}
	return n
}

// flowTarget finds the node that a step is for; nil where it is a group, or
// where there is none, which is reported.
func (s *Service) flowTarget(ref grammar.Ref, of string) *Node {
	if ref.Name == "" {
		return nil
	}
	n := s.byName[ref.Name]
	if n == nil && s.groups[ref.Name] == nil && s.isFragment() {
		s.Incomplete(ref.Pos, codeFlowTarget, "%s names %q, and the topology has no node templates", of, ref.Name)
		return nil
	}
	if n == nil && s.groups[ref.Name] == nil {
		s.Unknown(ref.Pos, codeFlowTarget, ref.Name, s.templateNames(anyNode), "%s names %q, which is not in the topology", of, ref.Name)
	}
	return n
}

// isFragment tells whether the topology of 1.x has workflows without any node, as
// the example of TOSCA 1.3, 7.3.4.2, has, whose steps call operations without
// their interfaces, too.
func (s *Service) isFragment() bool { return len(s.Topo.Nodes) == 0 && !second(s.Doc) }

// checkTargetRelation checks the requirement of a node that a step is for.
func (s *Service) checkTargetRelation(ref, to grammar.Ref, n *Node, of string) {
	if ref.Name != "" && n == nil && second(s.Doc) && s.groups[to.Name] != nil {
		s.Errorf(ref.Pos, codeFlowTarget, "%s names requirement %q of %q, which is a group", of, ref.Name, to.Name)
	}
	if ref.Name == "" || n == nil || n.Typ == nil || n.Typ.Requirement(ref.Name) != nil || s.relations[ref.Name] != nil {
		return
	}
	if n.Doc.Scope().Lookup(grammar.RelationshipType, ref.Name) != nil {
		return // 1.x is not clear about which of the two it is
	}
	s.Unknown(ref.Pos, codeFlowTarget, ref.Name, suggestable(s, n.Typ.byName), "%s names requirement %q, which %s does not have", of, ref.Name, n.Of())
}

func (s *Service) checkStep(step *grammar.Step, w *grammar.Workflow, steps map[string]bool, of string) {
	n := s.flowTarget(step.Target, of)
	s.checkTargetRelation(step.TargetRelation, step.Target, n, of)
	s.checkStepFilter(step.Filter, s.inFlow(data.Place{Of: of + ": filter", Doc: s.Doc, Self: selfOf(n)}))
	for _, ref := range append(slices.Clone(step.OnSuccess), step.OnFailure...) {
		if !steps[ref.Name] {
			s.Unknown(ref.Pos, codeFlowStep, ref.Name, s.stepNames(w), "%s is followed by %q, which is no step of the workflow", of, ref.Name)
		}
	}
	s.checkStepHost(step, of)
	var targets []*Node
	switch g := s.groups[step.Target.Name]; {
	case n != nil:
		targets = []*Node{n}
	case g != nil:
		targets = s.members(g.Group)
	}
	s.checkActivities(step.Activities, of, targets, step.TargetRelation.Name)
}

// stepNames lists the steps of a workflow, as long as one of them may be
// suggested.
func (s *Service) stepNames(w *grammar.Workflow) []string {
	if !s.Suggesting() {
		return nil
	}
	names := make([]string, len(w.Steps))
	for i, step := range w.Steps {
		names[i] = step.Name
	}
	return names
}

// checkStepFilter checks a list of conditions; that of 1.x is one clause.
func (s *Service) checkStepFilter(filter *source.Node, p data.Place) {
	if filter == nil || !second(s.Doc) {
		s.condition(filter, p)
		return
	}
	if filter.Kind != source.List {
		s.Errorf(filter.Pos(), codeShape, "%s must be a list of conditions", p.Of)
		return
	}
	for _, f := range filter.Items {
		s.condition(f, p)
	}
}

// checkActivities checks the operations and workflows that activities name.
// One of the targets must have an operation, or the relationship of one by a
// requirement; where nothing is known of a target, it may have any.
func (s *Service) checkActivities(all []*grammar.Activity, of string, targets []*Node, requirement string) {
	s.indexWorkflows()
	for _, a := range all {
		if a.State != nil {
			s.checkValue(a.State, "string", s.inFlow(data.Place{Of: of + ": set_state", Doc: s.Doc, Self: data.Anything}))
		}
		if a.Ref.Name == "" {
			continue // the grammar says so
		}
		switch a.Kind {
		case grammar.CallOperation:
			s.checkCall(a, of, targets, requirement)
		case grammar.InlineFlow:
			w := s.flows[a.Ref.Name]
			if w == nil {
				s.Unknown(a.Ref.Pos, codeFlowUnknown, a.Ref.Name, suggestable(s, s.flows), "%s inlines workflow %q, which is not there", of, a.Ref.Name)
				continue
			}
			s.checkFlowInputs(a, w, of)
		case grammar.Delegate, grammar.SetState:
		}
	}
}

// checkFlowInputs checks the inputs that a workflow is inlined with.
func (s *Service) checkFlowInputs(a *grammar.Activity, w *grammar.Workflow, of string) {
	defs := s.workflowInputs(w)
	if s.Spent() {
		return
	}
	for _, p := range a.Inputs {
		at := s.inFlow(data.Place{Of: of + ": input " + quote(p.Name) + " of workflow " + quote(w.Name), Doc: s.Doc, Self: data.Anything})
		if defs[p.Name] == nil {
			s.Unknown(p.Pos, codeFlowInput, p.Name, suggestable(s, defs), "%s: workflow %q has no input %q", of, w.Name, p.Name)
			continue
		}
		s.checkInput(Parameter{Def: defs[p.Name]}, p, at)
	}
}

// checkCall checks interface.operation.
func (s *Service) checkCall(a *grammar.Activity, of string, targets []*Node, requirement string) {
	dot := strings.LastIndex(a.Ref.Name, ".")
	if dot <= 0 || dot == len(a.Ref.Name)-1 {
		report := s.Errorf
		if s.isFragment() {
			report = s.Incomplete
		}
		report(a.Ref.Pos, codeFlowCall, "%s calls %q, which is not the name of an interface and an operation, as in \"Standard.start\"", of, a.Ref.Name)
		return
	}
	face, op := a.Ref.Name[:dot], a.Ref.Name[dot+1:]
	if requirement != "" && len(targets) == 1 && second(s.Doc) {
		s.checkRelatedCall(a, of, targets[0], requirement, face, op)
	}
	if requirement != "" || len(targets) == 0 {
		return
	}
	if face == "tosca.interfaces.node.lifecycle.Standard" || face == "tosca:Standard" {
		face = "Standard"
	}
	var names []string
	for _, n := range targets {
		if n.Typ == nil || !s.Spend(1+len(n.Interfaces)) {
			return
		}
		faces := n.interfaces()
		i := find(faces, face, n.Doc)
		if i != nil && (i.vague || i.Operations[op] != nil) {
			if made := i.Operations[op]; made != nil {
				for _, p := range a.Inputs {
					at := s.inFlow(n.Place(of + ": input " + quote(p.Name)))
					if !second(s.Doc) { // whether SELF is the node or what calls, 1.x does not say
						at.Self = data.Anything
					}
					s.checkInput(made.Inputs[p.Name], p, at)
				}
				called := &grammar.Interface{Operations: []*grammar.Operation{{Name: op, Inputs: a.Inputs}}}
				s.notFixed(called, find(s.typeInterfaces(n.Typ.Type), face, n.Doc), s.Doc, of)
			}
			return
		}
		if !s.Suggesting() {
			continue
		}
		for name, i := range faces {
			for _, op := range Keys(i.Operations) {
				names = append(names, name+"."+op)
			}
		}
	}
	slices.Sort(names)
	s.Unknown(a.Ref.Pos, codeFlowCall, a.Ref.Name, names, "%s calls operation %q, which %s does not have", of, a.Ref.Name, targets[0].Of())
}

// checkRelatedCall checks an operation of the relationships that a node has by a
// requirement (TOSCA 2.0, 13.2.2).
func (s *Service) checkRelatedCall(a *grammar.Activity, of string, n *Node, requirement, face, op string) {
	if n.Typ == nil || n.Typ.Requirement(requirement) == nil || !s.Spend(1+len(n.Edges)) {
		return
	}
	types := []*grammar.Type{n.Typ.Requirement(requirement).Relation}
	for _, e := range append(slices.Clip(n.Edges), n.dangling...) {
		if e.Name == requirement {
			types = append(types, e.Relation)
		}
	}
	for _, t := range types {
		made := s.inherit(t)
		if made == nil || !made.Whole {
			return
		}
		if i := s.typeInterfaces(made)[face]; i != nil && (i.vague || i.Operations[op] != nil) {
			return
		}
	}
	s.Errorf(a.Ref.Pos, codeFlowCall, "%s calls operation %q, which the relationship by %q does not have", of, a.Ref.Name, requirement)
}

// checkInlined reports the workflows that inline themselves: by Tarjan's
// algorithm, which looks at each activity once.
func (s *Service) checkInlined() {
	c := &circles{flows: s.flows, order: map[*grammar.Workflow]int{}, low: map[*grammar.Workflow]int{}, open: map[*grammar.Workflow]bool{}}
	for _, w := range s.Topo.Workflows {
		if c.order[w] == 0 {
			c.visit(w)
		}
	}
	for _, w := range s.Topo.Workflows {
		if c.found[w] {
			s.Errorf(w.Pos, codeFlowCycle, "workflow %q inlines itself", w.Name)
		}
	}
}

// circles finds the workflows that lead back to themselves.
type circles struct {
	flows map[string]*grammar.Workflow
	order map[*grammar.Workflow]int // when each was met first, from 1 on
	low   map[*grammar.Workflow]int // the earliest that it leads back to
	open  map[*grammar.Workflow]bool
	way   []*grammar.Workflow // those that are open
	found map[*grammar.Workflow]bool
}

func (c *circles) visit(w *grammar.Workflow) {
	c.order[w] = len(c.order) + 1
	c.low[w] = c.order[w]
	c.way, c.open[w] = append(c.way, w), true
	for _, step := range w.Steps {
		for _, a := range step.Activities {
			next := c.flows[a.Ref.Name]
			switch {
			case a.Kind != grammar.InlineFlow || next == nil:
			case next == w:
				c.add(w)
			case c.order[next] == 0:
				c.visit(next)
				c.low[w] = min(c.low[w], c.low[next])
			case c.open[next]:
				c.low[w] = min(c.low[w], c.order[next])
			}
		}
	}
	if c.low[w] != c.order[w] {
		return
	}
	from := len(c.way) - 1
	for c.way[from] != w {
		from--
	}
	for _, member := range c.way[from:] {
		c.open[member] = false
		if len(c.way)-from > 1 {
			c.add(member)
		}
	}
	c.way = c.way[:from]
}

func (c *circles) add(w *grammar.Workflow) {
	if c.found == nil {
		c.found = map[*grammar.Workflow]bool{}
	}
	c.found[w] = true
}
