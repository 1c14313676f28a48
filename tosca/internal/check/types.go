package check

import (
	"fmt"
	"slices"

	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/inherit"
	"github.com/toskose/toskose/tosca/internal/resolve"
)

// checkTypes checks all types of the archive, also unused ones.
func checkTypes(g *resolve.Graph) {
	for _, doc := range g.Docs {
		if doc.Embedded || doc.Scope() == nil {
			continue
		}
		for _, types := range doc.Types {
			for _, t := range types {
				checkType(g, t)
			}
		}
		for _, f := range doc.Functions {
			checkFunction(g, f, doc)
		}
	}
}

// checkFunction checks the definition of a function (TOSCA 2.0, 10.4).
func checkFunction(g *resolve.Graph, f *grammar.FunctionDef, doc *grammar.Document) {
	for i, sig := range f.Signatures {
		p := data.Place{Of: fmt.Sprintf("function %q: signature %d", f.Name, i+1), Doc: doc}
		for _, schema := range append(slices.Clone(sig.Arguments), sig.Optional...) {
			g.Values.DeclareSchema(schema, doc, p)
		}
		g.Values.DeclareSchema(sig.Result, doc, p)
		if sig.Implementation != nil {
			checkInlineArtifacts(g, sig.Implementation, p)
		}
	}
}

func checkType(g *resolve.Graph, t *grammar.Type) {
	of := inherit.Quoted(t)
	if v := t.Version; v.Name != "" && !data.IsVersion(v.Name, t.Doc.V2()) {
		g.Errorf(v.Pos, code.TypeVersion, "%s: %q is not a version, such as \"1.2\" or 1.2.3.beta-4", of, v.Name)
	}
	if t.Kind == grammar.DataType {
		chain(g, t)
		g.Values.DeclareType(t, data.Place{Of: of})
		checkTyped(g, t, of)
		checkRefined(g, t)
		return
	}
	chain(g, t)
	for _, r := range t.Requirements {
		checkRequirementDef(g, t, r, of+": requirement "+quote(r.Name))
	}
	for _, d := range t.Capabilities {
		checkCapabilityDef(g, t, d, of+": capability "+quote(d.Name))
	}
	checkInterfaceDefs(g, t, t.Interfaces, of)
	checkTypeArtifacts(g, t, of)
	checkValidLists(g, t, of)
	checkDefinitions(g, t, of)
	checkTyped(g, t, of)
	checkRefined(g, t)
}

// checkTyped reports properties and capabilities without a type. For a type without a
// parent the grammar reports them.
func checkTyped(g *resolve.Graph, t *grammar.Type, of string) {
	whole := g.Inherit(t)
	if t.DerivedFrom.Name == "" || !whole.Complete || t.Doc.V2() {
		return
	}
	for _, list := range []struct {
		written []*grammar.Property
		made    map[string]*data.Definition
	}{{t.Properties, whole.Props}, {t.Attributes, whole.Attrs}} {
		for _, p := range list.written {
			if made := list.made[p.Name]; made != nil && made.TypeName() == "" && (p.Value == nil || !slices.Contains(t.Attributes, p)) {
				g.Errorf(p.Pos, code.Untyped, "%s: %q has no type, and inherits none", of, p.Name)
				made.Value, made.Required = nil, false // no value can be checked against it
			}
		}
	}
	if !slices.ContainsFunc(t.Capabilities, func(d *grammar.CapabilityDef) bool { return d.Type.Name == "" }) {
		return
	}
	typed := map[string]bool{} // by name, with inherited ones
	for _, at := range whole.Chain {
		if !g.Spend(len(at.Capabilities)) {
			return
		}
		for _, c := range at.Capabilities {
			typed[c.Name] = typed[c.Name] || c.Type.Name != ""
		}
	}
	for _, d := range t.Capabilities {
		if !typed[d.Name] {
			g.Errorf(d.Pos, code.Untyped, "%s: capability %q has no type, and inherits none", of, d.Name)
		}
	}
}

// checkDefinitions checks the properties and attributes of a type and of its
// capabilities.
func checkDefinitions(g *resolve.Graph, t *grammar.Type, of string) {
	whole := g.Inherit(t)
	declareAll(g, t.Properties, whole.Props, t, whole.Complete, of)
	declareAll(g, t.Attributes, whole.Attrs, t, whole.Complete, of)
	if t.Kind != grammar.NodeType {
		return
	}
	made := g.Flatten(t)
	for _, d := range t.Capabilities {
		of := of + ": capability " + quote(d.Name)
		c := made.Caps[d.Name]
		declareAll(g, d.Properties, c.Props, t, false, of)
		declareAll(g, d.Attributes, c.Attrs, t, false, of)
		if c.Typ == nil && d.Type.Name == "" && t.DerivedFrom.Name != "" && whole.Complete && t.Doc.V2() { // else the grammar reports it
			g.Errorf(d.Pos, code.Untyped, "%s has no type, and inherits none", of)
		}
	}
}

// declareAll checks definitions of properties or attributes. A definition that refines
// nothing needs a type; for a type without a parent the grammar reports that.
func declareAll(g *resolve.Graph, props []*grammar.Property, made map[string]*data.Definition, t *grammar.Type, whole bool, of string) {
	for _, p := range props {
		def := refining(made[p.Name], p, t.Doc)
		of := of + ": " + quote(p.Name)
		if def.TypeName() == "" && whole && t.Doc.V2() {
			if t.DerivedFrom.Name != "" {
				g.Errorf(p.Pos, code.Untyped, "%s has no type, and inherits none", of)
			}
			continue
		}
		g.Values.Declare(def, data.Place{Of: of, Self: g.SelfOfType(t)})
	}
}

// refining returns the definition made of a property, with the one that it refines. If
// that was not made because of the limit of work, it returns one without.
func refining(made *data.Definition, p *grammar.Property, doc *grammar.Document) *data.Definition {
	if made != nil && made.Schema.Pos == p.Pos {
		return made
	}
	return data.From(p, doc)
}

// checkValidLists checks the types in the lists of a type, such as valid_source_types.
func checkValidLists(g *resolve.Graph, t *grammar.Type, of string) {
	targets := map[grammar.Kind][]grammar.Kind{
		grammar.RelationshipType: {grammar.CapabilityType, grammar.NodeType},
		grammar.GroupType:        {grammar.NodeType, grammar.GroupType},
		grammar.PolicyType:       {grammar.NodeType, grammar.GroupType, grammar.RelationshipType},
	}
	if t.Doc.V2() {
		targets[grammar.RelationshipType] = []grammar.Kind{grammar.CapabilityType}
		targets[grammar.PolicyType] = []grammar.Kind{grammar.NodeType, grammar.GroupType}
	}
	if kinds := targets[t.Kind]; kinds != nil {
		allKnown(g, t.Doc, t.Targets, of, kinds...)
	}
	allKnown(g, t.Doc, t.Sources, of, grammar.NodeType)
	allKnown(g, t.Doc, t.TargetNodes, of, grammar.NodeType)
	allKnown(g, t.Doc, t.Relations, of, grammar.RelationshipType)
}

// allKnown reports types that are not of any of some kinds.
func allKnown(g *resolve.Graph, doc *grammar.Document, refs []grammar.Ref, of string, kinds ...grammar.Kind) {
next:
	for _, ref := range refs {
		for _, kind := range kinds {
			if doc.Scope().Lookup(kind, ref.Name) != nil {
				continue next
			}
		}
		g.Known(doc, kinds[0], ref, of)
	}
}

// chain reports a cycle among the ancestors of a type, and unknown ancestors.
func chain(g *resolve.Graph, t *grammar.Type) {
	var chain []*grammar.Type
	for t != nil {
		if slices.Contains(chain, t) {
			g.Errorf(t.DerivedFrom.Pos, code.TypeCycle, "%s is derived from itself", inherit.Quoted(t))
			return
		}
		if len(chain) == inherit.MaxDerived {
			g.Errorf(t.DerivedFrom.Pos, code.TypeCycle, "%s is derived through more than %d types", inherit.Quoted(chain[0]), inherit.MaxDerived)
			return
		}
		chain = append(chain, t)
		parent := t.DerivedFrom
		if parent.Name == "" || (t.Kind == grammar.DataType && data.IsBuiltin(parent.Name, t.Doc)) {
			return
		}
		t = g.Lookup(t.Doc, t.Kind, parent, inherit.Quoted(t))
	}
}

// checkCapabilities checks the assignments of a node template to its capabilities.
func checkCapabilities(g *resolve.Graph, n *resolve.Node, required bool) {
	assigned := map[string]bool{}
	for _, k := range n.Capabilities {
		assigned[k.Name] = true
		if def := n.Typ.Caps[k.Name]; def != nil {
			checkMost(g, k.Counted, def.Max, n.Of()+": capability "+quote(k.Name))
			if k.Type.Name != "" {
				g.Errorf(k.Type.Pos, code.Shape, "%s: capability %q must be a map, not a string", n.Of(), k.Name)
			}
		} else {
			g.Unknown(k.Pos, code.CapName, k.Name, inherit.Candidates(g, n.Typ.Caps), "%s has no capability %q", n.Of(), k.Name)
		}
		for _, d := range k.Directives {
			checkScope(g, d, n.Of()+": capability "+quote(k.Name))
		}
	}
	for name, def := range n.Typ.Caps {
		typ := ""
		if required && !n.Owned() && def.Typ != nil && (assigned[name] || !def.Typ.Doc.Embedded) {
			typ = inherit.Quoted(def.Typ)
		}
		if assigned[name] || typ != "" {
			if c := n.Capability(name); c != nil {
				checkValues(&c.Holder, typ)
			}
		}
	}
}

// checkScope checks a directive of a capability or requirement.
func checkScope(g *resolve.Graph, d grammar.Ref, of string) {
	if d.Name != "internal" && d.Name != "external" {
		g.Errorf(d.Pos, code.Directive, "%s: directive %q is neither internal nor external", of, d.Name)
	}
}
