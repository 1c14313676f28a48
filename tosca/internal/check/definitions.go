package check

import (
	"cmp"
	"slices"
	"strings"

	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/inherit"
	"github.com/toskose/toskose/tosca/internal/resolve"
	"github.com/toskose/toskose/tosca/internal/source"
)

// interfaceChecker checks the parameters of an interface definition in a type against
// the inherited definitions: of the parent type and of the interface's own type.
type interfaceChecker struct {
	*resolve.Graph
	t     *grammar.Type
	self  data.Entity
	under *inherit.Interface
}

func newInterfaceChecker(g *resolve.Graph, t *grammar.Type, i *grammar.Interface) *interfaceChecker {
	d := &interfaceChecker{Graph: g, t: t, self: g.SelfOfType(t), under: g.NewInterface()}
	if !t.Doc.V2() {
		return d
	}
	if t.Kind == grammar.InterfaceType {
		for _, base := range slices.Backward(inherit.Ancestors(t)[1:]) {
			for _, inherited := range base.Interfaces {
				g.Merge(d.under, inherited, base.Doc)
			}
		}
		return d
	}
	if parent := t.Doc.Scope().Lookup(t.Kind, t.DerivedFrom.Name); parent != nil && !inherit.Derives(parent, t) {
		if old := g.TypeInterfaces(g.Inherit(parent))[i.Name]; old != nil && g.Spend(inherit.PerCandidate*(1+len(old.Operations))) {
			d.under = g.CopyFor(old, nil)
		}
	}
	g.Extend(d.under, &grammar.Interface{Name: i.Name, Type: i.Type}, t.Doc)
	return d
}

// parameters checks inputs. Up to 1.3, an input without a type is not a definition.
func (d *interfaceChecker) parameters(params []*grammar.Property, under map[string]inherit.Parameter, of string) {
	if !d.t.Doc.V2() {
		declareParameters(d.Graph, params, d.t.Doc, of)
		return
	}
	old := map[string]*data.Definition{}
	for _, p := range params {
		was, has := under[p.Name]
		if !has {
			continue
		}
		old[p.Name] = was.Def
		if was.Value != nil { // a value in a type is fixed
			old[p.Name] = &data.Definition{Schema: &grammar.Schema{}, Doc: d.t.Doc, Value: was.Value, Refines: was.Def}
		}
	}
	d.definitions(params, old, of)
	for _, p := range params {
		d.checkSelfOnly(p.Default, of+": "+quote(p.Name))
		d.checkSelfOnly(p.Value, of+": "+quote(p.Name))
	}
}

// outputs checks outputs and the attributes that they are mapped to.
func (d *interfaceChecker) outputs(params []*grammar.Property, under map[string]*data.Definition, of string) {
	if !d.t.Doc.V2() {
		declareParameters(d.Graph, params, d.t.Doc, of)
		if d.t.Kind == grammar.NodeType || d.t.Kind == grammar.RelationshipType {
			self := d.self
			if d.t.Kind == grammar.NodeType {
				self = d.AnyNodeOf(d.t)
			}
			for _, p := range params {
				checkMapping(d.Graph, p.Mapping, nil, data.Place{Of: of + ": output " + quote(p.Name), Doc: d.t.Doc, Self: self})
			}
		}
		return
	}
	d.definitions(params, under, of)
	for _, p := range params {
		def := data.From(p, d.t.Doc)
		def.Refines = under[p.Name]
		if d.t.Kind == grammar.InterfaceType {
			continue
		}
		of := of + ": output " + quote(p.Name)
		if m := p.Mapping; m != nil && m.Kind == source.List && len(m.Items) > 0 && m.Items[0].Text != "SELF" {
			d.Errorf(m.Items[0].Pos(), code.Mapping, "%s must be written to an attribute of SELF: a type knows no other node (TOSCA 2.0, 11.4)", of)
			continue
		}
		checkMapping(d.Graph, p.Mapping, def, data.Place{Of: of, Doc: d.t.Doc, Self: d.self})
	}
}

// definitions checks definitions against those that they refine.
func (d *interfaceChecker) definitions(params []*grammar.Property, old map[string]*data.Definition, of string) {
	for name, def := range old {
		if def == nil {
			delete(old, name)
		}
	}
	r := &refiner{Graph: d.Graph, t: d.t, strict: true}
	r.properties(params, old, of, "parameter")
	for _, p := range params {
		def := data.From(p, d.t.Doc)
		if def.Refines = old[p.Name]; def.Refines != nil && def.Refines.Fixed() {
			continue // already reported
		}
		d.Values.Declare(def, data.Place{Of: of + ": " + quote(p.Name), Self: d.self})
	}
}

// checkSelfOnly reports functions that read nodes or relationships which a type cannot
// know: any in an interface type, and those named in a node or relationship type (TOSCA
// 2.0, 11.4).
func (d *interfaceChecker) checkSelfOnly(n *source.Node, of string) {
	if n == nil || !d.Spend(1) {
		return
	}
	for k, path := range n.Pairs() {
		if k.Text != "$get_property" && k.Text != "$get_attribute" {
			continue
		}
		if d.t.Kind == grammar.InterfaceType {
			d.Errorf(k.Pos(), code.FunctionPlace, "%s: %s is not valid in an interface type, which has no node or relationship yet", of, k.Text)
			return
		}
		if path.Kind != source.List || len(path.Items) < 2 {
			continue
		}
		if at := path.Items[0]; at.Kind == source.String && !rooted[at.Text] && !strings.HasPrefix(at.Text, "$") {
			d.Errorf(at.Pos(), code.FunctionPlace, "%s: %s names %q, but a type can refer to SELF only", of, k.Text, at.Text)
			return
		}
	}
	for _, item := range n.Items {
		d.checkSelfOnly(item, of)
	}
}

// rooted are keywords at the beginning of a path. Those of 1.x are reported elsewhere.
var rooted = map[string]bool{"SELF": true, "SOURCE": true, "TARGET": true, "HOST": true}

// declareParameters checks definitions of parameters, which have a type.
func declareParameters(g *resolve.Graph, params []*grammar.Property, doc *grammar.Document, of string) {
	for _, p := range params {
		if p.Type.Name != "" {
			g.Values.Declare(data.From(p, doc), data.Place{Of: of + ": " + quote(p.Name)})
		}
	}
}

// checkOperations reports operations of an interface that its type does not define.
// Since 2.0, operations and notifications are apart.
func checkOperations(g *resolve.Graph, i *grammar.Interface, made *inherit.Interface, doc *grammar.Document, of string) {
	for at, o := range append(slices.Clone(i.Operations), i.Notifications...) {
		notice := at >= len(i.Operations)
		switch has := made.Operations[o.Name]; {
		case has == nil:
			g.Unknown(o.Pos, code.OpUnknown, o.Name, inherit.Candidates(g, made.Operations), "%s has no operation %q", of, o.Name)
		case has.Notice != notice && doc.V2():
			g.Errorf(o.Pos, code.OpUnknown, "%s: %q is a notification in one place and an operation in the other", of, o.Name)
		}
	}
}

// checkNotFixed reports assignments of a template to what its type has fixed: the value
// of an input, or the attribute that an output is mapped to (TOSCA 2.0, 9.9 and 9.10).
func checkNotFixed(g *resolve.Graph, i *grammar.Interface, defined *inherit.Interface, doc *grammar.Document, of string) {
	if defined == nil || !doc.V2() {
		return
	}
	inputs := func(assigned []*grammar.Property, defs map[string]inherit.Parameter, of string) {
		for _, p := range assigned {
			if defs[p.Name].Value != nil {
				g.Errorf(p.Pos, code.PropFixed, "%s: input %q has a fixed value, so it cannot be assigned", of, p.Name)
			}
		}
	}
	inputs(i.Inputs, defined.Inputs, of)
	for _, o := range append(slices.Clone(i.Operations), i.Notifications...) {
		made := defined.Operations[o.Name]
		if made == nil {
			continue
		}
		of := of + ": operation " + quote(o.Name)
		inputs(o.Inputs, made.Inputs, of)
		for _, p := range o.Outputs {
			if p.Mapping != nil && made.Mapped[p.Name] {
				g.Errorf(p.Pos, code.PropFixed, "%s: output %q is written to an attribute already, so it cannot be mapped", of, p.Name)
			}
		}
	}
}

// checkRequirementDef checks the definition of a requirement in a node type.
func checkRequirementDef(g *resolve.Graph, t *grammar.Type, r *grammar.RequirementDef, of string) {
	rel := g.Known(t.Doc, grammar.RelationshipType, r.Relationship, of)
	node := t.Doc.Scope().Lookup(grammar.NodeType, r.Node.Name)
	if node == nil && t.Doc != g.Doc && !t.Doc.V2() && r.Node.Name != "" { // a file that imports this one may define it
		g.Warnf(r.Node.Pos, code.TypeUnknown, "%s: unknown node type %q, which no imported file defines", of, r.Node.Name)
	} else {
		node = g.Known(t.Doc, grammar.NodeType, r.Node, of)
	}
	checkRequiredCapability(g, t, r, node, of)
	if rel != nil && len(r.Interfaces) > 0 {
		checkInterfaceDefs(g, t, nil, of)
		faces := g.TypeInterfaces(g.Inherit(rel))
		for _, i := range r.Interfaces {
			if inherit.Find(faces, i.Name, t.Doc) == nil && i.Type.Name == "" && g.Inherit(rel).Complete {
				g.Unknown(i.Pos, code.IfaceUnknown, i.Name, inherit.Candidates(g, faces), "%s: %s has no interface %q", of, inherit.Quoted(rel), i.Name)
			}
			g.Known(t.Doc, grammar.InterfaceType, i.Type, of)
		}
	}
	checkFilter(g, r.Filter, g.WholeNodeType(node), t.Doc, of+nodeFilter)
	if !g.Inherit(t).Complete {
		checkRefinedRelation(g, t, rel, r, of)
		return
	}
	made := g.Flatten(t).Requirement(r.Name)
	if made == nil {
		return // the limit of work is exceeded (already reported)
	}
	checkRefinedRelation(g, t, cmp.Or(rel, made.Relation), r, of)
	if made.Capability == nil && made.CapabilityName == "" && t.DerivedFrom.Name != "" && r.Capability.Name == "" { // else the grammar reports it
		g.Errorf(r.Pos, code.ReqDefined, "%s names no capability", of)
	}
	if !t.Doc.V2() {
		return
	}
	if made.Relation == nil && r.Relationship.Name == "" && t.DerivedFrom.Name != "" && !r.Short {
		g.Errorf(r.Pos, code.ReqDefined, "%s names no relationship", of)
	}
	to := g.WholeNodeType(made.Node)
	if to == nil || made.Capability == nil || !g.Inherit(made.Capability).Complete || to.Unresolved() || r.Capability.Name == "" && r.Node.Name == "" {
		return
	}
	if to.CapabilityOf(made.Capability) == nil {
		g.Errorf(cmp.Or(r.Node.Pos, r.Pos), code.ReqDefined, "%s: %s has no capability of type %q", of, inherit.Quoted(made.Node), made.Capability.Name)
	}
}

// checkRequiredCapability checks the capability of a requirement definition: a
// capability type, or a capability of its node type.
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

// checkCapabilityDef checks the definition of a capability in a node type. It may
// restrict the source types of its own type (TOSCA 1.0, 3.6.1.3; 2.0, 8.2). Since 2.0 it
// may only refine properties of that type.
func checkCapabilityDef(g *resolve.Graph, t *grammar.Type, d *grammar.CapabilityDef, of string) {
	g.Known(t.Doc, grammar.CapabilityType, d.Type, of)
	allKnown(g, t.Doc, d.Sources, of, grammar.NodeType)
	allKnown(g, t.Doc, d.Relations, of, grammar.RelationshipType)
	typ := g.Flatten(t).Caps[d.Name]
	if typ == nil || typ.Typ == nil || !typ.Complete {
		return
	}
	made := g.Inherit(typ.Typ)
	r := &refiner{Graph: g, t: t, strict: true}
	r.within(d.Sources, listed(made, func(t *grammar.Type) []grammar.Ref { return t.Sources }), []grammar.Kind{grammar.NodeType}, of)
	if !t.Doc.V2() {
		return
	}
	checkRefinesAll(g, d.Properties, made.Props, of, "property", typ.Typ)
	checkRefinesAll(g, d.Attributes, made.Attrs, of, "attribute", typ.Typ)
	if parent := g.WholeNodeType(t.Doc.Scope().Lookup(t.Kind, t.DerivedFrom.Name)); parent == nil || parent.Caps[d.Name] == nil {
		r.properties(d.Properties, made.Props, of, "property") // else they are checked against the parent's
		r.properties(d.Attributes, made.Attrs, of, "attribute")
	}
	r.within(d.Relations, listed(made, func(t *grammar.Type) []grammar.Ref { return t.Relations }), []grammar.Kind{grammar.RelationshipType}, of)
}

// checkRefinedRelation checks the refinement of a requirement's relationship. It may
// only refine properties of the relationship type (TOSCA 2.0, 8.4), as refined by the
// parent node type.
func checkRefinedRelation(g *resolve.Graph, t, rel *grammar.Type, d *grammar.RequirementDef, of string) {
	if !t.Doc.V2() || rel == nil || !g.Inherit(rel).Complete {
		return
	}
	of += ": relationship"
	made := g.Inherit(rel)
	props, attrs := made.Props, made.Attrs
	if parent := g.WholeNodeType(t.Doc.Scope().Lookup(t.Kind, t.DerivedFrom.Name)); parent != nil && parent.Requirement(d.Name) != nil {
		props, attrs = parent.Requirement(d.Name).Refine(made)
	}
	checkRefinesAll(g, d.RelationProperties, props, of, "property", rel)
	checkRefinesAll(g, d.RelationAttributes, attrs, of, "attribute", rel)
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
		if face == nil || face.Unresolved {
			continue
		}
		for _, o := range slices.Concat(i.Operations, i.Notifications) {
			if face.Operations[o.Name] == nil {
				g.Unknown(o.Pos, code.OpUnknown, o.Name, inherit.Candidates(g, face.Operations), "%s: interface %q has no operation %q", of, i.Name, o.Name)
			}
		}
	}
}

// checkRefinesAll checks that each definition refines an inherited one.
func checkRefinesAll(g *resolve.Graph, props []*grammar.Property, defs map[string]*data.Definition, of, what string, typ *grammar.Type) {
	for _, p := range props {
		checkRefines(g, p, defs, of, what, typ)
	}
}

func checkRefines(g *resolve.Graph, p *grammar.Property, defs map[string]*data.Definition, of, what string, typ *grammar.Type) {
	if defs[p.Name] == nil {
		g.Unknown(p.Pos, code.PropUnknown, p.Name, inherit.Candidates(g, defs), "%s: %s has no %s %q", of, inherit.Quoted(typ), what, p.Name)
	}
}
