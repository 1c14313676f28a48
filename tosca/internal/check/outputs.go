package check

import (
	"maps"

	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/resolve"
	"github.com/toskose/toskose/tosca/internal/source"
)

// checkMapping checks where an output of an operation is written to: an
// attribute, most often one of the same node. Def is the output's own; nil: it
// has none.
func checkMapping(g *resolve.Graph, mapping *source.Node, def *data.Definition, p data.Place) {
	if mapping == nil || mapping.Kind != source.List {
		return
	}
	kind, _ := p.Self.Describe()
	switch {
	case len(mapping.Items) < 2 && (p.Doc.V2() || p.Doc.V13()):
		g.Errorf(mapping.Pos(), code.Mapping, "%s must be written to an attribute: a list of SELF or a node template, and a name", p.Of)
		return
	case len(mapping.Items) < 2:
		return
	case p.Doc.V13() && kind == data.NodeEntity && mapping.Items[0].Text != "SELF":
		g.Errorf(mapping.Items[0].Pos(), code.Mapping, "%s must be written to an attribute of SELF (TOSCA 1.3, 3.6.15)", p.Of)
		return
	}
	name := mapping.Items[1]
	if mapping.Items[0].Text == "SELF" && name.IsScalar() && kind != data.CapabilityEntity && !hasAttribute(p.Self, name.Text) {
		g.Unknown(name.Pos(), code.Mapping, name.Text, p.Self.Names(data.Attribute), "%s is written to attribute %q, which is not there", p.Of, name.Text)
		return
	}
	if p.Doc.V2() {
		checkMappedPath(g, mapping, def, p)
	}
}

func hasAttribute(self data.Entity, name string) bool {
	if _, answer := self.Get(data.Attribute, name); answer != data.Missing || steps[name] {
		return true
	}
	_, answer := self.Lead(data.Step{Kind: data.ToCapability, Name: name}) // of 1.x
	return answer != data.Missing
}

// checkMappedPath follows the path to an attribute, and compares what is there
// with what is written to it (TOSCA 2.0, 9.10).
func checkMappedPath(g *resolve.Graph, mapping *source.Node, def *data.Definition, p data.Place) {
	reads := source.Scalar(source.String, "$get_attribute", mapping)
	v := g.Values.Eval(source.At(source.Map, []*source.Node{reads}, []*source.Node{mapping}, mapping), p)
	if !v.OK || v.Def == nil || def == nil {
		return
	}
	made, to := g.Values.Plain(def), g.Values.Plain(v.Def)
	if made != "" && to != "" && made != to && (made != "integer" || to != "float") || g.Values.Differs(def, v.Def) {
		g.Errorf(mapping.Pos(), code.Mapping, "%s is of type %s, and the attribute that it is written to of type %s", p.Of, g.Values.Described(def), g.Values.Described(v.Def))
	}
}

// steps are the words that lead on in a path (TOSCA 2.0, 10.3).
var steps = map[string]bool{"RELATIONSHIP": true, "CAPABILITY": true, "SOURCE": true, "TARGET": true, "HOST": true}

// checkOutputs evaluates outputs for what is wrong in them. Their values are
// those of a running application, so nothing of them is kept.
func checkOutputs(g *resolve.Graph) {
	for _, in := range g.Topo.Inputs {
		if g.Doc.V2() {
			checkMapping(g, in.Mapping, data.From(in, g.Doc), data.Place{Of: "input " + quote(in.Name), Doc: g.Doc, Self: data.Anything})
		}
	}
	for _, o := range g.Topo.Outputs {
		p := data.Place{Of: "output " + quote(o.Name), Doc: g.Doc}
		if o.Definition != nil && o.Definition.Type.Name != "" {
			p.Meant = data.From(o.Definition, g.Doc)
		}
		v := g.Values.Eval(o.Value, p)
		if p.Meant == nil {
			continue
		}
		def := p.Meant
		declared := *def
		declared.Default, declared.Value = nil, nil
		if g.Values.Declare(&declared, p) && v.OK {
			g.Values.CheckValue(v.Moved(o.Value), def, p)
		}
	}
}

// checkUnused warns of inputs that no file reads, in whatever part of it:
// values that this package never evaluates count, too.
func checkUnused(g *resolve.Graph) {
	read := map[string]bool{}
	for _, d := range g.Docs {
		maps.Copy(read, d.InputsRead)
	}
	for _, p := range g.Topo.Inputs {
		if !read[p.Name] && !g.Suggested(p.Name, code.FunctionInput) { // else a slip hides who reads it
			g.Warnf(p.Pos, code.InputUnused, "input %q is never used: no get_input names it", p.Name)
		}
	}
}
