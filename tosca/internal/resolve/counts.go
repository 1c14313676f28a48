package resolve

import (
	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

// hostName is the requirement for a host, as the normative types call it.
const hostName = "host"

// checkOccurrences checks how often a node has each requirement. One that is
// not there at all is left to the orchestrator (TOSCA 2.0, 8.5.4).
func (s *Service) checkOccurrences(n *Node) {
	counts, needed := map[string]int{}, map[string]int{}
	for _, r := range n.Requirements {
		s.checkRange(n, r)
		times, known := s.times(r.Count)
		if !known {
			return
		}
		counts[r.Name] += times
		if r.Optional == nil || r.Optional.Text != "true" {
			needed[r.Name] += max(times, s.most(r.Count))
		}
	}
	for _, def := range n.Typ.Reqs {
		count, has := counts[def.Name]
		switch {
		case n.Owned() && def.Name == hostName: // the caller says it better
		case count < def.Min && n.Owned():
			s.Errorf(n.Pos, codeReqMissing, "%s lacks requirement %q, which %s needs", n.Of(), def.Name, Quoted(n.Typ.Type.Type))
		case !has && def.Min > 0 && !second(n.Doc) && !n.Owned():
			s.leftOpen(n, def)
		case has && needed[def.Name] < def.Min && !n.Owned():
			s.Errorf(n.first(def.Name), codeReqMissing, "%s has requirement %q %d times; at least %d are needed", n.Of(), def.Name, needed[def.Name], def.Min)
		case def.Max >= 0 && count > def.Max:
			s.Errorf(s.surplus(n, def), codeReqMany, "%s has requirement %q %d times; at most %d are allowed", n.Of(), def.Name, count, def.Max)
		}
	}
}

// first is where a node assigns a requirement first.
func (n *Node) first(name string) diag.Position {
	for _, r := range n.Requirements {
		if r.Name == name {
			return r.Pos
		}
	}
	return n.Pos
}

// surplus is where a requirement is there once more than it may be.
func (s *Service) surplus(n *Node, def *RequirementDef) diag.Position {
	count := 0
	for _, r := range n.Requirements {
		if r.Name != def.Name {
			continue
		}
		times, _ := s.times(r.Count)
		if count += times; count > def.Max {
			return r.Pos
		}
	}
	return n.Pos
}

// leftOpen warns of a requirement that a node needs and does not have: whoever
// deploys the topology has to find what fulfils it. That is meant where the
// node is to be found or substituted, and where the requirement is that of the
// node which the topology stands for.
func (s *Service) leftOpen(n *Node, def *RequirementDef) {
	if n.Abstract.Line != 0 || def.Capability == nil || s.isExposed(n.Name, def.Name) {
		return
	}
	s.Warnf(n.Pos, codeReqMissing, "%s lacks requirement %q, which %s needs, so it is left to whoever deploys the topology", n.Of(), def.Name, Quoted(n.Typ.Type.Type))
}

// isExposed tells whether substitution_mappings map to a requirement.
func (s *Service) isExposed(node, requirement string) bool {
	if s.exposed == nil {
		s.exposed = map[[2]string]bool{}
		if m := s.Topo.Substitution; m != nil {
			for _, p := range m.Requirements {
				for _, part := range append([]*grammar.Mapping{p}, p.Parts...) {
					if len(part.To) == 2 {
						s.exposed[[2]string{part.To[0].Name, part.To[1].Name}] = true
					}
				}
			}
		}
	}
	return s.exposed[[2]string{node, requirement}]
}

// checkRange checks the occurrences that 1.3 lets a template restrict against
// those of the definition.
func (s *Service) checkRange(n *Node, r *grammar.Requirement) {
	if def := n.Typ.Requirement(r.Name); def != nil && r.Count != nil {
		s.checkMost(r.Count, def.Max, n.Of()+": requirement "+quote(r.Name))
	}
}

// checkMost checks a range against the most that a definition allows.
func (s *Service) checkMost(count *source.Node, allowed int, of string) {
	if allowed < 0 || count.IsNull() || count.Kind != source.List || len(count.Items) != 2 {
		return
	}
	high := count.Items[1]
	if most, ok := data.Integer(high); high.Text == "UNBOUNDED" || ok && most > int64(allowed) {
		s.Errorf(count.Pos(), codeReqMany, "%s occurs up to %s times; at most %d are allowed", of, high.Text, allowed)
	}
}

// times reads how often a requirement is meant; known is false where only a
// function says so. A range of 1.x is as often as it is needed: once.
func (s *Service) times(count *source.Node) (times int, known bool) {
	switch {
	case count.IsNull() || count.Kind == source.List:
		return 1, true
	case !count.IsScalar():
		return 0, false
	}
	i, ok := data.Integer(count)
	return int(i), ok
}

// most is how often a requirement with a range of 1.x may be meant.
func (s *Service) most(count *source.Node) int {
	if count.IsNull() || count.Kind != source.List || len(count.Items) != 2 {
		return 0
	}
	if most, ok := data.Integer(count.Items[1]); ok {
		return int(min(most, 1<<20))
	}
	return 1 << 20 // UNBOUNDED
}

// checkCount checks a number of nodes or relationships (TOSCA 2.0, 14).
func (s *Service) checkCount(count *source.Node, p data.Place) {
	if count.IsNull() || count.Kind == source.List && !second(p.Doc) {
		return // what 1.x writes there was read by the grammar
	}
	v := s.eval.Eval(count, p)
	if !v.OK || v.Node.IsNull() {
		return
	}
	if v.Later != nil {
		s.eval.Check(v.Node, data.Of("integer", p.Doc), p)
		return
	}
	if i, ok := data.Integer(v.Node); !ok || i < 0 {
		s.Errorf(count.Pos(), codeCount, "%s must be an integer of at least 0, not %s", p.Of, data.Show(v.Node))
	}
}

// checkOptional checks whether a requirement says in so many words that it need
// not be fulfilled (TOSCA 2.0, 8.5.1).
func (s *Service) checkOptional(n *source.Node, p data.Place) {
	if v := s.eval.Eval(n, p); v.OK {
		s.eval.Check(v.Node, data.Of("boolean", p.Doc), p)
	}
}
