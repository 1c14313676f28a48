package check

import (
	"cmp"
	"slices"

	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/inherit"
	"github.com/toskose/toskose/tosca/internal/resolve"
)

// selfOfDefined is selfOfFilter for the filter of a definition.
func selfOfDefined(g *resolve.Graph, t *grammar.Type, r *grammar.RequirementDef) data.Entity {
	made := g.Flatten(t).Requirement(r.Name)
	if !t.Doc.V2() || made == nil || r.Filter == nil {
		return data.Anything
	}
	return g.AnyRelationOf(t, made.Relation, made.Node, certain(g, made, t.Doc))
}

// certain is the capability that a definition leads to, where the node type that
// it names tells and no type is derived from the capability's, which might have
// more; nil otherwise.
func certain(g *resolve.Graph, r *inherit.RequirementDef, doc *grammar.Document) *inherit.CapabilityDef {
	to := g.WholeNodeType(r.Node)
	if to == nil {
		return nil
	}
	c := to.Caps[r.CapabilityName]
	if c == nil {
		c = to.CapabilityOf(r.Capability)
	}
	names := doc.Scope().Names(grammar.CapabilityType)
	if c == nil || !g.Spend(len(names)) || slices.ContainsFunc(names, func(name string) bool {
		t := doc.Scope().Lookup(grammar.CapabilityType, name)
		return t != c.Typ && inherit.Derives(t, c.Typ)
	}) {
		return nil
	}
	return c
}

// checkRequirementDef checks a requirement where a node type defines it.
func checkRequirementDef(g *resolve.Graph, t *grammar.Type, r *grammar.RequirementDef, of string) {
	rel := g.Known(t.Doc, grammar.RelationshipType, r.Relationship, of)
	node := t.Doc.Scope().Lookup(grammar.NodeType, r.Node.Name)
	if node == nil && t.Doc != g.Doc && !t.Doc.V2() && r.Node.Name != "" { // whoever imports it may have it otherwise
		g.Warnf(r.Node.Pos, code.TypeUnknown, "%s: unknown node type %q, which nobody defines", of, r.Node.Name)
	} else {
		node = g.Known(t.Doc, grammar.NodeType, r.Node, of)
	}
	checkRequiredCapability(g, t, r, node, of)
	if rel != nil && len(r.Interfaces) > 0 {
		checkInterfaceDefs(g, t, nil, of)
		faces := g.TypeInterfaces(g.Inherit(rel))
		for _, i := range r.Interfaces {
			if inherit.Find(faces, i.Name, t.Doc) == nil && i.Type.Name == "" && g.Inherit(rel).Whole {
				g.Unknown(i.Pos, code.IfaceUnknown, i.Name, inherit.Candidates(g, faces), "%s: %s has no interface %q", of, inherit.Quoted(rel), i.Name)
			}
			g.Known(t.Doc, grammar.InterfaceType, i.Type, of)
		}
	}
	checkFilter(g, r.Filter, g.WholeNodeType(node), t.Doc, of+nodeFilter, selfOfDefined(g, t, r))
	if !g.Inherit(t).Whole {
		checkRefinedRelation(g, t, rel, r, of)
		return
	}
	made := g.Flatten(t).Requirement(r.Name)
	if made == nil {
		return // too much work, and said so
	}
	checkRefinedRelation(g, t, cmp.Or(rel, made.Relation), r, of)
	if made.Capability == nil && made.CapabilityName == "" && t.DerivedFrom.Name != "" && r.Capability.Name == "" { // else the grammar says so
		g.Errorf(r.Pos, code.ReqDefined, "%s names no capability", of)
	}
	if !t.Doc.V2() {
		return
	}
	if made.Relation == nil && r.Relationship.Name == "" && t.DerivedFrom.Name != "" && !r.Short {
		g.Errorf(r.Pos, code.ReqDefined, "%s names no relationship", of)
	}
	to := g.WholeNodeType(made.Node)
	if to == nil || made.Capability == nil || !g.Inherit(made.Capability).Whole || to.Vague() || r.Capability.Name == "" && r.Node.Name == "" {
		return
	}
	if to.CapabilityOf(made.Capability) == nil {
		g.Errorf(cmp.Or(r.Node.Pos, r.Pos), code.ReqDefined, "%s: %s has no capability of type %q", of, inherit.Quoted(made.Node), made.Capability.Name)
	}
}

// checkRequiredCapability: a requirement asks for a type of capability, or for
// one of the node type that it names.
func checkRequiredCapability(g *resolve.Graph, t *grammar.Type, r *grammar.RequirementDef, node *grammar.Type, of string) {
	name := r.Capability.Name
	if name == "" {
		return
	}
	typ := t.Doc.Scope().Lookup(grammar.CapabilityType, name)
	if made := g.WholeNodeType(node); made != nil {
		switch {
		case made.Caps[name] != nil:
			return
		case typ == nil:
			g.Unknown(r.Capability.Pos, code.TypeUnknown, name, append(t.Doc.Scope().Names(grammar.CapabilityType), made.CapabilityNames()...),
				"%s: unknown capability type %q", of, name)
			return
		}
	}
	g.Known(t.Doc, grammar.CapabilityType, r.Capability, of)
}

// checkCapabilityDef checks a capability where a node type defines it: it is for
// nodes of types that its own type is for (TOSCA 1.0, 3.6.1.3; 2.0, 8.2), and
// since 2.0 it has the properties of its type and no others.
func checkCapabilityDef(g *resolve.Graph, t *grammar.Type, d *grammar.CapabilityDef, of string) {
	g.Known(t.Doc, grammar.CapabilityType, d.Type, of)
	allKnown(g, t.Doc, d.Sources, of, grammar.NodeType)
	allKnown(g, t.Doc, d.Relations, of, grammar.RelationshipType)
	typ := g.Flatten(t).Caps[d.Name]
	if typ == nil || typ.Typ == nil || !typ.Whole {
		return
	}
	made := g.Inherit(typ.Typ)
	r := &refiner{Graph: g, t: t, strict: true}
	r.within(d.Sources, listed(made, func(t *grammar.Type) []grammar.Ref { return t.Sources }), []grammar.Kind{grammar.NodeType}, of)
	if !t.Doc.V2() {
		return
	}
	allRefined(g, d.Properties, made.Props, of, "property", typ.Typ)
	allRefined(g, d.Attributes, made.Attrs, of, "attribute", typ.Typ)
	if parent := g.WholeNodeType(t.Doc.Scope().Lookup(t.Kind, t.DerivedFrom.Name)); parent == nil || parent.Caps[d.Name] == nil {
		r.properties(d.Properties, made.Props, of, "property") // else checked against the parent's
		r.properties(d.Attributes, made.Attrs, of, "attribute")
	}
	r.within(d.Relations, listed(made, func(t *grammar.Type) []grammar.Ref { return t.Relations }), []grammar.Kind{grammar.RelationshipType}, of)
}

// checkRefinedRelation checks what a requirement refines of the relationship that
// it makes: it has the properties of its type and no others (TOSCA 2.0, 8.4), as
// they were refined by the parent of the node type.
func checkRefinedRelation(g *resolve.Graph, t, rel *grammar.Type, d *grammar.RequirementDef, of string) {
	if !t.Doc.V2() || rel == nil || !g.Inherit(rel).Whole {
		return
	}
	of += ": relationship"
	made := g.Inherit(rel)
	props, attrs := made.Props, made.Attrs
	if parent := g.WholeNodeType(t.Doc.Scope().Lookup(t.Kind, t.DerivedFrom.Name)); parent != nil && parent.Requirement(d.Name) != nil {
		props, attrs = parent.Requirement(d.Name).Refine(made)
	}
	allRefined(g, d.RelationProperties, props, of, "property", rel)
	allRefined(g, d.RelationAttributes, attrs, of, "attribute", rel)
	r := &refiner{Graph: g, t: t, strict: true}
	r.properties(d.RelationProperties, props, of, "property")
	r.properties(d.RelationAttributes, attrs, of, "attribute")
	for _, p := range d.RelationProperties {
		def := data.From(p, t.Doc)
		if def.Refines = props[p.Name]; def.Refines != nil {
			g.Values.Declare(def, data.Place{Of: of + ": " + quote(p.Name)})
		}
	}
	faces := g.TypeInterfaces(made)
	for _, i := range d.Interfaces {
		face := inherit.Find(faces, i.Name, t.Doc)
		if face == nil || face.Vague {
			continue
		}
		for _, o := range slices.Concat(i.Operations, i.Notifications) {
			if face.Operations[o.Name] == nil {
				g.Unknown(o.Pos, code.OpUnknown, o.Name, inherit.Candidates(g, face.Operations), "%s: interface %q has no operation %q", of, i.Name, o.Name)
			}
		}
	}
}

// allRefined checks that definitions refine what is there already.
func allRefined(g *resolve.Graph, props []*grammar.Property, defs map[string]*data.Definition, of, what string, typ *grammar.Type) {
	for _, p := range props {
		onlyRefined(g, p, defs, of, what, typ)
	}
}

func onlyRefined(g *resolve.Graph, p *grammar.Property, defs map[string]*data.Definition, of, what string, typ *grammar.Type) {
	if defs[p.Name] == nil {
		g.Unknown(p.Pos, code.PropUnknown, p.Name, inherit.Candidates(g, defs), "%s: %s has no %s %q", of, inherit.Quoted(typ), what, p.Name)
	}
}
