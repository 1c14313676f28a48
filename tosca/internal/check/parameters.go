package check

import (
	"slices"
	"strings"

	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/inherit"
	"github.com/toskose/toskose/tosca/internal/resolve"
	"github.com/toskose/toskose/tosca/internal/source"
)

// defining checks the parameters of an interface where a type defines it,
// against what is below: of the parent type, and of the interface's own type.
type defining struct {
	*resolve.Graph
	t     *grammar.Type
	self  data.Entity
	under *inherit.Interface
}

func newDefining(g *resolve.Graph, t *grammar.Type, i *grammar.Interface) *defining {
	d := &defining{Graph: g, t: t, self: g.SelfOfType(t), under: g.NewInterface()}
	if !t.Doc.V2() {
		return d
	}
	if t.Kind == grammar.InterfaceType {
		for _, base := range slices.Backward(inherit.Ancestors(t)[1:]) {
			for _, inherited := range base.Interfaces {
				g.Lay(d.under, inherited, base.Doc)
			}
		}
		return d
	}
	parent := t.Doc.Scope().Lookup(t.Kind, t.DerivedFrom.Name)
	if parent != nil && !inherit.Derives(parent, t) {
		if old := g.TypeInterfaces(g.Inherit(parent))[i.Name]; old != nil && g.Spend(inherit.PerCandidate*(1+len(old.Operations))) {
			d.under = g.Layered(old, nil)
		}
	}
	g.Extend(d.under, &grammar.Interface{Name: i.Name, Type: i.Type}, t.Doc)
	return d
}

// parameters checks inputs. Up to 1.3, those that only have a value, or nothing,
// are not definitions.
func (d *defining) parameters(params []*grammar.Property, under map[string]inherit.Parameter, of string) {
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
		if was.Value != nil { // what has a value in a type is fixed
			old[p.Name] = &data.Definition{Schema: &grammar.Schema{}, Doc: d.t.Doc, Value: was.Value, Refines: was.Def}
		}
	}
	d.definitions(params, old, of)
	for _, p := range params {
		d.onlySelf(p.Default, of+": "+quote(p.Name))
		d.onlySelf(p.Value, of+": "+quote(p.Name))
	}
}

// outputs checks outputs, and the attributes that they are written to.
func (d *defining) outputs(params []*grammar.Property, under map[string]*data.Definition, of string) {
	if !d.t.Doc.V2() {
		declareParameters(d.Graph, params, d.t.Doc, of)
		if d.t.Kind == grammar.NodeType || d.t.Kind == grammar.RelationshipType {
			self := d.self
			if d.t.Kind == grammar.NodeType {
				self = d.AnyNodeOf(d.t, false)
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
func (d *defining) definitions(params []*grammar.Property, old map[string]*data.Definition, of string) {
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
			continue // said so
		}
		d.Values.Declare(def, data.Place{Of: of + ": " + quote(p.Name), Self: d.self})
	}
}

// onlySelf refuses functions that read a node or relationship where there is none
// yet, in the type of an interface, and those that read one by its name in the
// type of a node or relationship (TOSCA 2.0, 11.4).
func (d *defining) onlySelf(n *source.Node, of string) {
	if n == nil || !d.Spend(1) {
		return
	}
	for k, path := range n.Pairs() {
		if k.Text != "$get_property" && k.Text != "$get_attribute" {
			continue
		}
		if d.t.Kind == grammar.InterfaceType {
			d.Errorf(k.Pos(), code.FunctionPlace, "%s: %s means nothing in an interface type, which has no node or relationship yet", of, k.Text)
			return
		}
		if path.Kind != source.List || len(path.Items) < 2 {
			continue
		}
		if at := path.Items[0]; at.Kind == source.String && !rooted[at.Text] && !strings.HasPrefix(at.Text, "$") {
			d.Errorf(at.Pos(), code.FunctionPlace, "%s: %s names %q, and a type knows no other node than SELF", of, k.Text, at.Text)
			return
		}
	}
	for _, item := range n.Items {
		d.onlySelf(item, of)
	}
}

// rooted are the words at the beginning of a path that are not names: SELF, and
// those of 1.x, of which is said elsewhere that they are that.
var rooted = map[string]bool{"SELF": true, "SOURCE": true, "TARGET": true, "HOST": true}

// declareParameters checks definitions of parameters; those that only have a
// value, or nothing, are none.
func declareParameters(g *resolve.Graph, params []*grammar.Property, doc *grammar.Document, of string) {
	for _, p := range params {
		if p.Type.Name != "" {
			g.Values.Declare(data.From(p, doc), data.Place{Of: of + ": " + quote(p.Name)})
		}
	}
}

// onlyDefined checks that an interface has the operations that are defined and no
// others. Since 2.0, notifications have a place of their own.
func onlyDefined(g *resolve.Graph, i *grammar.Interface, made *inherit.Interface, doc *grammar.Document, of string) {
	for at, o := range append(slices.Clone(i.Operations), i.Notifications...) {
		notice := at >= len(i.Operations)
		switch has := made.Operations[o.Name]; {
		case has == nil:
			g.Unknown(o.Pos, code.OpUnknown, o.Name, inherit.Candidates(g, made.Operations), "%s has no operation %q", of, o.Name)
		case has.Notice != notice && doc.V2():
			g.Errorf(o.Pos, code.OpUnknown, "%s: %q is a notification, or is written among the notifications and is none", of, o.Name)
		}
	}
}

// notFixed checks that a template does not assign what its type has fixed: the
// value of an input, or the attribute that an output is written to (TOSCA 2.0,
// 9.9 and 9.10).
func notFixed(g *resolve.Graph, i *grammar.Interface, defined *inherit.Interface, doc *grammar.Document, of string) {
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
