package resolve

import (
	"regexp"
	"slices"

	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

// policy is a policy of the topology.
type policy struct {
	*grammar.Policy
	holder
	typ   *grammar.Type // nil: unknown, and said so
	nodes []*Node       // that it is for, those of groups too
	wrong bool          // there is something wrong with its properties
}

// Policy is a policy with the nodes that it is for.
type Policy struct {
	*grammar.Policy
	Typ   *grammar.Type // nil: unknown, and said so
	Nodes []*Node
	// Props are the values of its properties; nil where something is wrong with
	// them, which was said.
	Props map[string]*source.Node
}

// Policies gives the policies of the topology, in the order written.
func (s *Service) Policies() []Policy {
	var all []Policy
	for _, p := range s.policies {
		made := Policy{Policy: p.Policy, Typ: p.typ, Nodes: p.nodes}
		if p.typ != nil && !p.wrong {
			made.Props = map[string]*source.Node{}
			for name := range p.props {
				if v := p.property(name); v.OK && !v.Node.IsNull() {
					made.Props[name] = v.Node
				}
			}
		}
		all = append(all, made)
	}
	return all
}

func (p *policy) Describe() (data.EntityKind, string) {
	return data.OtherEntity, "policy " + quote(p.Name)
}

func (p *policy) Lead(data.Step) (data.Entity, data.Answer) { return nil, data.Missing }

func (p *policy) Get(m data.Member, name ...string) (data.Value, data.Answer) {
	if p.typ == nil {
		return data.Value{}, data.Open
	}
	return p.get(m, name[0])
}

func (p *policy) Names(m data.Member, _ ...string) []string { return p.names(m) }

// checkPolicies checks targets, properties and triggers of policies.
func (s *Service) checkPolicies() {
	for _, t := range s.Topo.Policies {
		of := "policy " + quote(t.Name)
		p := &policy{Policy: t, typ: s.known(s.Doc, grammar.PolicyType, t.Type, of)}
		p.holder = holder{s: s, self: p, of: of, doc: s.Doc, pos: t.Pos, assigned: t.Properties}
		s.policies = append(s.policies, p)
		p.nodes = s.policyTargets(p)
		var inherited []*grammar.Trigger
		if made := s.inherit(p.typ); made != nil {
			p.props, p.whole = made.Props, made.Whole && !bare(p.typ)
			before := s.Errors()
			s.checkExtensions(p)
			p.check(Quoted(p.typ))
			p.wrong = s.Errors() > before
			for _, at := range made.Chain {
				inherited = append(inherited, at.Triggers...)
			}
		}
		for _, trigger := range t.Triggers {
			s.checkTrigger(trigger, of+": trigger "+quote(trigger.Name), p)
		}
		for _, trigger := range inherited {
			s.checkActivities(trigger.Action, of+": trigger "+quote(trigger.Name), p.nodes, "")
		}
	}
}

// checkExtensions explains a property that only our own type of protocol has.
func (s *Service) checkExtensions(p *policy) {
	for k := range p.Properties.Pairs() {
		if k.Text == "fault_handlers" && p.props[k.Text] == nil && ChainHas(Ancestors(p.typ), "tosker.policies.Protocol") {
			p.explained = k.Text
			s.Errorf(k.Pos(), codePropUnknown, "%s: fault_handlers is an extension: give the policy type toskose.policies.Protocol", p.of)
		}
	}
}

// policyTargets gives the nodes that a policy is for, those of groups too.
func (s *Service) policyTargets(p *policy) []*Node {
	var all []*Node
	for _, ref := range p.Targets {
		n, g := s.byName[ref.Name], s.groups[ref.Name]
		switch {
		case n != nil:
			all = append(all, n)
			if n.Typ != nil && p.typ != nil && !s.isFor(p.typ, n.Typ.Chain) {
				s.Errorf(ref.Pos, codePolicyType, "%s names %q of type %q, which %s is not for", p.of, n.Name, n.Type.Name, Quoted(p.typ))
			}
		case g != nil:
			members := s.members(g.Group)
			all = append(all, members...)
			if g.typ != nil && p.typ != nil && !s.isFor(p.typ, Ancestors(g.typ)) && !s.isForAll(p.typ, members) {
				s.Errorf(ref.Pos, codePolicyType, "%s names %q of type %q, which %s is not for", p.of, g.Name, g.Type.Name, Quoted(p.typ))
			}
		case s.relations[ref.Name] != nil && !second(s.Doc):
		default:
			s.Unknown(ref.Pos, codePolicyTarget, ref.Name, s.templateNames(anyNode), "%s names %q, which is not in the topology", p.of, ref.Name)
		}
	}
	return all
}

func (s *Service) isForAll(t *grammar.Type, nodes []*Node) bool {
	return !slices.ContainsFunc(nodes, func(n *Node) bool { return n.Typ != nil && !s.isFor(t, n.Typ.Chain) })
}

// checkTrigger checks what a trigger of a policy watches and does.
func (s *Service) checkTrigger(t *grammar.Trigger, of string, p *policy) {
	if f := t.Target; f != nil && f.Node.Name != "" {
		s.checkEventFilter(f, of)
	}
	s.checkWhen(t, of, data.Place{Doc: p.doc, Self: p}, s.watched(t.Target))
	s.checkActivities(t.Action, of, p.nodes, "")
}

// checkWhen checks when a trigger of a policy or a policy type acts.
func (s *Service) checkWhen(t *grammar.Trigger, of string, p data.Place, watched data.Entity) {
	at := func(part string, self data.Entity) data.Place {
		p := p
		p.Of, p.Self = of+": "+part, self
		return p
	}
	s.checkValue(t.Schedule, "tosca.datatypes.TimeInterval", at("schedule", p.Self))
	s.condition(t.Condition, at("condition", watched))
	for key, n := range map[string]*source.Node{"period": t.Period, "evaluations": t.Evaluations, "method": t.Method} {
		s.checkPeriod(key, n, at(key, p.Self))
	}
}

// watched is the node that a trigger watches, as far as it is known.
func (s *Service) watched(f *grammar.EventFilter) data.Entity {
	if f == nil || f.Capability.Name != "" {
		return data.Anything
	}
	return selfOf(s.byName[f.Node.Name])
}

// condition checks a condition clause of either family.
func (s *Service) condition(n *source.Node, p data.Place) {
	switch {
	case n == nil:
	case second(p.Doc):
		s.eval.Condition(n, p)
	case n.Get("constraint") != nil:
		s.checkPeriods(n, p)
	default:
		s.eval.Clause(n, p)
	}
}

// checkPeriods checks the extended condition of a trigger: a clause with how
// often and for how long it must hold (TOSCA 1.3, 3.6.22.2).
func (s *Service) checkPeriods(n *source.Node, p data.Place) {
	for k, v := range n.Pairs() {
		p := p
		p.Of += ": " + k.Text
		switch {
		case k.Text == "constraint":
			s.eval.Threshold(v, p)
		case !s.checkPeriod(k.Text, v, p):
			s.Unknown(k.Pos(), codeTrigger, k.Text, []string{"constraint", "evaluations", "method", "period"}, "%s is none of what a condition has", p.Of)
		}
	}
}

var (
	periods   = map[string]string{"period": "scalar-unit.time", "evaluations": "integer", "method": "string"}
	inSeconds = regexp.MustCompile(`^[0-9]+ *sec$`)
)

// checkPeriod checks one of the keywords that say how often and for how long a
// condition must hold, and tells whether it is one.
func (s *Service) checkPeriod(key string, n *source.Node, p data.Place) bool {
	seconds := key == "period" && n != nil && (n.Kind == source.Int || inSeconds.MatchString(n.Text)) // as the standard's own examples have it
	if periods[key] != "" && !seconds {
		s.checkValue(n, periods[key], p)
	}
	return periods[key] != ""
}

// checkValue checks a value against a type alone.
func (s *Service) checkValue(n *source.Node, typ string, p data.Place) {
	if n.IsNull() {
		return
	}
	if v := s.eval.Eval(n, p); v.OK {
		s.eval.Check(v.Node, data.Of(typ, p.Doc), p)
	}
}

// checkEventFilter checks the node template or type that a trigger watches.
func (s *Service) checkEventFilter(f *grammar.EventFilter, of string) {
	var t *NodeType
	if n := s.byName[f.Node.Name]; n != nil {
		t = n.Typ
	} else if typ := s.Doc.Scope().Lookup(grammar.NodeType, f.Node.Name); typ != nil {
		t = s.wholeType(typ)
	} else if !s.Doc.Scope().Open() {
		s.Unknown(f.Node.Pos, codeTrigger, f.Node.Name, s.templateNames(anyNode), "%s watches %q, which is neither a node template nor a type", of, f.Node.Name)
	}
	if t == nil {
		return
	}
	if r := f.Requirement; r.Name != "" && t.Requirement(r.Name) == nil {
		s.Unknown(r.Pos, codeTrigger, r.Name, suggestable(s, t.byName), "%s watches requirement %q, which %s does not have", of, r.Name, Quoted(t.Type.Type))
	}
	c := f.Capability
	if c.Name == "" || s.watchable(c.Name, t) {
		return
	}
	if t.Requirement(f.Requirement.Name) != nil && !second(s.Doc) { // what is watched is where the requirement leads (TOSCA 1.3, 3.6.21)
		to := s.leadsTo(s.byName[f.Node.Name], f.Requirement.Name)
		if to == nil || to.Typ == nil || s.watchable(c.Name, to.Typ) {
			return
		}
		t = to.Typ
	}
	s.Unknown(c.Pos, codeTrigger, c.Name, t.capabilities(), "%s watches capability %q, which %s does not have", of, c.Name, Quoted(t.Type.Type))
}

// watchable tells whether a node type may have a capability, by its name or
// type.
func (s *Service) watchable(name string, t *NodeType) bool {
	return t.Caps[name] != nil || t.capabilityOf(s.Doc.Scope().Lookup(grammar.CapabilityType, name)) != nil || t.vague()
}

// leadsTo is the node that a requirement of another one leads to; nil where that
// is not known.
func (s *Service) leadsTo(n *Node, requirement string) *Node {
	if n == nil {
		return nil
	}
	for _, e := range n.Edges {
		if e.Name == requirement && e.Target != nil {
			return e.Target
		}
	}
	return nil
}
