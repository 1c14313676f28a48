package resolve

import (
	"slices"

	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

// checkStates checks a precondition as section 7.3.6.1 of TOSCA 1.3 writes it:
// lists of the values that the state, and attributes by their names, may have.
func (s *Service) checkStates(c *grammar.Precondition, p data.Place) {
	if c.States == nil && c.Attributes == nil {
		return
	}
	at := c.States
	if at == nil {
		at = c.Attributes
	}
	s.Warnf(at.Pos(), codeFlowStates, "%s lists values as the example of TOSCA 1.3, 7.3.6.1, does: the grammar has a condition for them", p.Of)
	s.checkListed("state", c.States, p)
	for k, v := range c.Attributes.Pairs() {
		s.checkListed(k.Text, v, p)
	}
}

// checkListed checks the values that an attribute may have, as a condition would.
func (s *Service) checkListed(name string, list *source.Node, p data.Place) {
	if list == nil {
		return
	}
	if list.Kind != source.List {
		s.Errorf(list.Pos(), codeShape, "%s: the values of %q must be a list", p.Of, name)
		return
	}
	operator := source.At(source.Map, []*source.Node{source.Scalar(source.String, "valid_values", list)}, []*source.Node{list}, list)
	clauses := source.At(source.List, nil, []*source.Node{operator}, list)
	s.eval.Clause(source.At(source.Map, []*source.Node{source.Scalar(source.String, name, list)}, []*source.Node{clauses}, list), p)
}

// checkStepHost checks where the operations of a step run: at one end of a
// relationship that the step is for, or on some members of a group (TOSCA 1.3,
// 3.6.27.1). Of a node the text says nothing; what is named must be there.
func (s *Service) checkStepHost(step *grammar.Step, of string) {
	if second(s.Doc) {
		return // which has no such keyword
	}
	host := step.Host.Name
	ends := []string{"SOURCE", "TARGET"}
	switch {
	case step.TargetRelation.Name != "":
		calls := slices.ContainsFunc(step.Activities, func(a *grammar.Activity) bool { return a.Kind == grammar.CallOperation })
		if host == "" && calls {
			s.Warnf(step.TargetRelation.Pos, codeFlowHost, "%s is for a relationship, and no operation_host says whether its SOURCE or its TARGET runs the operations", of)
		}
		if host != "" && !slices.Contains(ends, host) {
			s.Unknown(step.Host.Pos, codeFlowHost, host, ends, "%s is for a relationship, so its operation_host is SOURCE or TARGET, not %q", of, host)
		}
	case host == "" || s.byName[host] != nil || s.Doc.Scope().Open() || s.Doc.Scope().Lookup(grammar.NodeType, host) != nil:
	case s.groups[step.Target.Name] == nil && slices.Contains([]string{"SELF", "HOST", "ORCHESTRATOR", "SOURCE", "TARGET"}, host):
	default:
		s.Unknown(step.Host.Pos, codeFlowHost, host, s.templateNames(anyNode), "%s: operation_host %q is neither a node template nor a node type", of, host)
	}
}
