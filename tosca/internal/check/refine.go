package check

import (
	"slices"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/inherit"
	"github.com/toskose/toskose/tosca/internal/resolve"
)

// refiner checks the refinement of inherited definitions (TOSCA 2.0, 6.4.2). Up to 1.2
// the standard has few rules, so violations are warnings.
type refiner struct {
	*resolve.Graph
	t      *grammar.Type
	strict bool
}

// checkRefined checks a type against its parent.
func checkRefined(g *resolve.Graph, t *grammar.Type) {
	parent := t.Doc.Scope().Lookup(t.Kind, t.DerivedFrom.Name)
	if t.DerivedFrom.Name == "" || parent == nil || inherit.Derives(parent, t) {
		return
	}
	r := &refiner{Graph: g, t: t, strict: t.Doc.V2() || t.Doc.V13()}
	old := g.Inherit(parent)
	of := inherit.Quoted(t)
	r.properties(t.Properties, old.Props, of, "property")
	r.properties(t.Attributes, old.Attrs, of, "attribute")
	kinds := []grammar.Kind{grammar.NodeType, grammar.CapabilityType, grammar.GroupType, grammar.RelationshipType}
	r.within(t.Targets, listed(old, func(t *grammar.Type) []grammar.Ref { return t.Targets }), kinds, of)
	r.within(t.Sources, listed(old, func(t *grammar.Type) []grammar.Ref { return t.Sources }), kinds, of)
	r.within(t.TargetNodes, listed(old, func(t *grammar.Type) []grammar.Ref { return t.TargetNodes }), kinds, of)
	r.within(t.Relations, listed(old, func(t *grammar.Type) []grammar.Ref { return t.Relations }), kinds, of)
	r.interfaces(old)
	if t.Kind == grammar.DataType {
		r.dataType(parent)
	}
	if t.Kind != grammar.NodeType {
		return
	}
	flat := g.Flatten(parent)
	for _, d := range t.Capabilities {
		r.capability(d, flat.Caps[d.Name], of+": capability "+quote(d.Name))
	}
	for _, d := range t.Requirements {
		if above := flat.Requirement(d.Name); above != nil {
			r.requirement(d, above, of+": requirement "+quote(d.Name))
		}
	}
}

func (r *refiner) report(at diag.Position, format string, args ...any) {
	if r.strict {
		r.Errorf(at, code.Refined, format, args...)
		return
	}
	r.Warnf(at, code.Refined, format, args...)
}

// properties checks definitions against the inherited ones of the same name.
func (r *refiner) properties(props []*grammar.Property, old map[string]*data.Definition, of, what string) {
	for _, p := range props {
		above := old[p.Name]
		if above == nil {
			continue
		}
		of := of + ": " + what + " " + quote(p.Name)
		switch {
		case above.Fixed() && above.TypeName() != "": // else it is an attribute with a function, in 1.x
			r.report(p.Pos, "%s has a fixed value in the parent type, so it cannot be changed", of)
		case p.Type.Name != "" && !r.dataDerives(data.From(p, r.t.Doc), above):
			r.report(p.Type.Pos, "%s is of type %q, which is not derived from %q, its type in the parent type", of, p.Type.Name, above.TypeName())
		case above.Required && !p.Required && p.RequiredPos.Line != 0:
			r.report(p.RequiredPos, "%s is required in the parent type, so it cannot be made optional", of)
		default:
			made := data.From(p, r.t.Doc)
			r.schema(r.Values.Entry(made), r.Values.Entry(above), of+": entry_schema", 0)
			r.schema(r.Values.Key(made), r.Values.Key(above), of+": key_schema", 0)
		}
	}
}

// maxSchemas bounds the depth of comparison, as types may be recursive.
const maxSchemas = 20

// schema checks an entry or key schema against the inherited one (TOSCA 2.0, 9.3).
func (r *refiner) schema(made, above *data.Definition, of string, depth int) {
	if made == nil || above == nil || depth > maxSchemas || !r.t.Doc.V2() {
		return
	}
	if made.TypeName() != "" && !r.dataDerives(made, above) {
		r.report(made.Schema.Pos, "%s is of type %q, which is not derived from %q, the one in the parent type", of, made.TypeName(), above.TypeName())
		return
	}
	r.schema(r.Values.Entry(made), r.Values.Entry(above), of+": entry_schema", depth+1)
}

// dataType checks the schemas of a data type against its parent's.
func (r *refiner) dataType(parent *grammar.Type) {
	old, of := data.Of(parent.Name, parent.Doc), inherit.Quoted(r.t)
	if r.t.Entry != nil {
		r.schema(&data.Definition{Schema: r.t.Entry, Doc: r.t.Doc}, r.Values.Entry(old), of+": entry_schema", 0)
	}
	if r.t.Key != nil {
		r.schema(&data.Definition{Schema: r.t.Key, Doc: r.t.Doc}, r.Values.Key(old), of+": key_schema", 0)
	}
}

// dataDerives reports whether the type of a definition is the type of another one, or
// derived from it. Unknown types are accepted.
func (r *refiner) dataDerives(d, from *data.Definition) bool {
	name, above := d.TypeName(), from.TypeName()
	x, y := r.Values.Plain(d), r.Values.Plain(from)
	if r.Values.Type(d) == nil || r.Values.Type(from) == nil {
		return true
	}
	if data.IsBuiltin(above, from.Doc) {
		return x == y || y == "map" && x == "map"
	}
	if data.IsBuiltin(name, d.Doc) {
		return false
	}
	typ := d.Doc.Scope().Lookup(grammar.DataType, name)
	for from.Schema.Type.Name == "" && from.Refines != nil {
		from = from.Refines
	}
	return inherit.Derives(typ, from.Doc.Scope().Lookup(grammar.DataType, above))
}

// listed returns the nearest list of types that a type and its ancestors allow. Lists of
// normative types are recommendations.
func listed(t *inherit.Type, of func(*grammar.Type) []grammar.Ref) (all []*grammar.Type) {
	for _, at := range t.Chain {
		refs := of(at)
		if at.Doc.Embedded {
			return nil
		}
		if len(refs) == 0 {
			continue
		}
		for _, ref := range refs {
			for kind := grammar.NodeType; kind <= grammar.PolicyType; kind++ {
				if found := at.Doc.Scope().Lookup(kind, ref.Name); found != nil {
					all = append(all, found)
				}
			}
		}
		return all
	}
	return nil
}

// within checks that each type of a list is in the parent's list or derived from a type
// in it.
func (r *refiner) within(list []grammar.Ref, old []*grammar.Type, kinds []grammar.Kind, of string) {
	if len(old) == 0 {
		return
	}
next:
	for _, ref := range list {
		if !r.Spend(len(old)) {
			return
		}
		known := false
		for _, kind := range kinds {
			t := r.t.Doc.Scope().Lookup(kind, ref.Name)
			if t == nil {
				continue
			}
			known = true
			if slices.ContainsFunc(old, func(above *grammar.Type) bool { return inherit.Derives(t, above) }) {
				continue next
			}
		}
		if known {
			r.report(ref.Pos, "%s allows %q, which the parent type does not", of, ref.Name)
		}
	}
}

func (r *refiner) capability(d *grammar.CapabilityDef, old *inherit.CapabilityDef, of string) {
	if old == nil {
		return
	}
	typ := r.t.Doc.Scope().Lookup(grammar.CapabilityType, d.Type.Name)
	if typ != nil && old.Typ != nil && r.Inherit(typ).Complete && !inherit.Derives(typ, old.Typ) {
		r.report(d.Type.Pos, "%s is of type %q, which is not derived from %q, its type in the parent type", of, d.Type.Name, old.Typ.Name)
		return
	}
	r.properties(d.Properties, old.Props, of, "property")
	r.properties(d.Attributes, old.Attrs, of, "attribute")
}

func (r *refiner) requirement(d *grammar.RequirementDef, old *inherit.RequirementDef, of string) {
	if old.CapabilityName != "" && d.Capability.Name != "" && d.Capability.Name != old.CapabilityName {
		r.report(d.Capability.Pos, "%s: capability %q is named in the parent type, so it cannot be changed", of, old.CapabilityName)
	}
	for _, part := range []struct {
		kind  grammar.Kind
		ref   grammar.Ref
		above *grammar.Type
	}{
		{grammar.CapabilityType, d.Capability, old.Capability},
		{grammar.NodeType, d.Node, old.Node},
		{grammar.RelationshipType, d.Relationship, old.Relation},
	} {
		typ := r.t.Doc.Scope().Lookup(part.kind, part.ref.Name)
		if typ != nil && part.above != nil && r.Inherit(typ).Complete && !inherit.Derives(typ, part.above) {
			r.report(part.ref.Pos, "%s: %s %q is not derived from %q, the one in the parent type", of, part.kind, part.ref.Name, part.above.Name)
		}
	}
	if d.Counted.Line != 0 && (d.Min < old.Min || old.Max >= 0 && (d.Max < 0 || d.Max > old.Max)) {
		r.report(d.Counted, "%s allows other numbers than the parent type", of)
	}
}

// interfaces checks the types of redefined interfaces.
func (r *refiner) interfaces(old *inherit.Type) {
	if r.t.Kind == grammar.InterfaceType {
		return
	}
	faces := r.TypeInterfaces(old)
	for _, i := range r.t.Interfaces {
		above := faces[i.Name]
		typ := r.t.Doc.Scope().Lookup(grammar.InterfaceType, i.Type.Name)
		if above != nil && above.Typ != nil && typ != nil && r.Inherit(typ).Complete && !inherit.Derives(typ, above.Typ) {
			r.report(i.Type.Pos, "%s: interface %q is of type %q, which is not derived from %q, its type in the parent type",
				inherit.Quoted(r.t), i.Name, i.Type.Name, above.Typ.Name)
		}
	}
}
