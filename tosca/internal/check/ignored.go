package check

import (
	"maps"
	"strings"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/inherit"
	"github.com/toskose/toskose/tosca/internal/resolve"
)

// Nothing here executes workflows, substitution mappings or triggers, or chooses
// among nodes that are not TosKer's. Their names are checked, and one warning for
// each subject says that it is ignored.

func checkWorkflows(g *resolve.Graph) {
	for i, w := range g.Topo.Workflows {
		if i == 0 {
			g.Warnf(w.Pos, code.Ignored, "workflows are ignored: management protocols say which operations run")
		}
		of := "workflow " + quote(w.Name)
		declareParameters(g, w.Inputs, g.Doc, of+": input")
		for _, target := range w.Preconditions {
			checkFlowTarget(g, target, of+": precondition")
		}
		steps := make(map[string]bool, len(w.Steps))
		for _, step := range w.Steps {
			steps[step.Name] = true
		}
		for _, step := range w.Steps {
			of := of + ": step " + quote(step.Name)
			checkFlowTarget(g, step.Target, of)
			for _, next := range step.Next {
				if !steps[next.Name] {
					g.Unknown(next.Pos, code.FlowStep, next.Name, inherit.Candidates(g, steps), "%s is followed by %q, which is not a step of the workflow", of, next.Name)
				}
			}
			checkInlined(g, step.Inlined, of)
		}
	}
}

// checkFlowTarget checks the node or group that a step or precondition names.
func checkFlowTarget(g *resolve.Graph, ref grammar.Ref, of string) {
	if ref.Name != "" && g.ByName[ref.Name] == nil && g.Groups[ref.Name] == nil {
		g.Unknown(ref.Pos, code.FlowTarget, ref.Name, g.TemplateNames(resolve.AnyNode), "%s names %q, which is not in the topology", of, ref.Name)
	}
}

// checkInlined checks the workflows that a step or trigger inlines.
func checkInlined(g *resolve.Graph, workflows []grammar.Ref, of string) {
	for _, ref := range workflows {
		if ref.Name != "" && g.Workflows[ref.Name] == nil {
			g.Unknown(ref.Pos, code.FlowUnknown, ref.Name, inherit.Candidates(g, g.Workflows), "%s inlines workflow %q, which does not exist", of, ref.Name)
		}
	}
}

// checkTriggers checks the triggers of a policy and of its types.
func checkTriggers(g *resolve.Graph) {
	warned := false
	for _, p := range g.Policies {
		triggers := p.Triggers
		for _, t := range g.Chain(p.Typ) {
			triggers = append(triggers[:len(triggers):len(triggers)], t.Triggers...)
		}
		for _, t := range triggers {
			if !warned {
				g.Warnf(t.Pos, code.Ignored, "triggers of policies are ignored: nothing watches for their events")
				warned = true
			}
			of := p.Of + ": trigger " + quote(t.Name)
			checkInlined(g, t.Inlined, of)
			if name := t.Target.Name; name != "" && g.ByName[name] == nil && g.Doc.Scope().Lookup(grammar.NodeType, name) == nil && !g.Doc.Scope().Open() {
				g.Unknown(t.Target.Pos, code.Trigger, name, g.TemplateNames(resolve.AnyNode), "%s watches %q, which is neither a node template nor a type", of, name)
			}
		}
	}
}

const substitution = "substitution_mappings"

func checkSubstitution(g *resolve.Graph) {
	m := g.Topo.Substitution
	if m == nil {
		return
	}
	g.Warnf(m.Pos, code.Ignored, "%s are ignored: a topology is deployed as it is", substitution)
	typ := g.Known(g.Doc, grammar.NodeType, m.NodeType, substitution)
	if t := g.WholeNodeType(typ); t != nil {
		checkMapped(g, m.Properties, t.Props, "property")
		attributes := maps.Clone(t.Props) // every property is an attribute, too
		maps.Copy(attributes, t.Attrs)
		checkMapped(g, m.Attributes, attributes, "attribute")
		checkMapped(g, m.Capabilities, t.Caps, "capability")
		checkMapped(g, m.Requirements, t.ByName, "requirement")
	}
	for _, p := range m.Properties {
		switch len(p.To) {
		case 1:
			checkMappedTo(g, p, g.InputByName, "input")
		case 2, 3: // in 1.2, a property of a node or of its capability
			checkMappedTo(g, p, g.ByName, "node template")
		}
	}
	outputs := map[string]*grammar.Output{}
	for _, o := range g.Topo.Outputs {
		outputs[o.Name] = o
	}
	for _, p := range m.Attributes {
		if len(p.To) == 1 {
			checkMappedTo(g, p, outputs, "output")
		}
	}
	for _, p := range append(m.Capabilities[:len(m.Capabilities):len(m.Capabilities)], m.Requirements...) {
		checkMappedTo(g, p, g.ByName, "node template")
	}
	for _, p := range m.Operations {
		checkMappedTo(g, p, g.Workflows, "workflow")
	}
}

// checkMapped checks that the substituted node type defines what is mapped. A path
// in the place of a name is not followed.
func checkMapped[V any](g *resolve.Graph, mappings []*grammar.Mapping, defined map[string]V, what string) {
	for _, m := range mappings {
		if _, ok := defined[m.Name]; !ok && !strings.ContainsAny(m.Name, "[, ") {
			g.Unknown(m.Pos, code.Mapped, m.Name, inherit.Candidates(g, defined), "%s: the node type has no %s %q", substitution, what, m.Name)
		}
	}
}

// checkMappedTo checks that the topology has what something is mapped to.
func checkMappedTo[V any](g *resolve.Graph, m *grammar.Mapping, known map[string]V, what string) {
	for _, part := range m.Parts {
		checkMappedTo(g, part, known, what)
	}
	if len(m.To) == 0 {
		return
	}
	if ref := m.To[0]; ref.Name != "" {
		if _, ok := known[ref.Name]; !ok {
			g.Unknown(ref.Pos, code.MappedTo, ref.Name, inherit.Candidates(g, known), "%s: %q is mapped to %s %q, which is not in the topology", substitution, m.Name, what, ref.Name)
		}
	}
}

// warnFilters reports the first node filter that is not evaluated.
func warnFilters(g *resolve.Graph) {
	for _, n := range g.Nodes {
		if at, ok := ignoredFilter(n); ok {
			g.Warnf(at, code.Ignored, "a node_filter is ignored here: only those in requirements of TosKer's nodes are evaluated")
			return
		}
	}
}

func ignoredFilter(n *resolve.Node) (at diag.Position, ok bool) {
	if n.Filter != nil {
		return n.Filter.Pos, true
	}
	if n.Owned() || n.Typ == nil {
		return at, false
	}
	for _, r := range n.Requirements {
		if r.NodeFilter != nil {
			return r.NodeFilter.Pos, true
		}
		if def := n.Typ.Requirement(r.Name); def != nil && len(def.Filters) > 0 && !def.Doc.Embedded {
			return def.Filters[0].Pos, true
		}
	}
	return at, false
}
