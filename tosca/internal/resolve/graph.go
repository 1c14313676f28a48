// Package resolve makes a graph of a service template: node templates with their
// types and edges, relationships, groups, policies, and values evaluated as far as
// they can be known before the application runs. It reports what leads nowhere; what
// else TOSCA's rules say of a graph is package check's. What the nodes mean to
// somebody who runs them is no concern of it. It starts no goroutine.
package resolve

import (
	"context"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/inherit"
	"github.com/toskose/toskose/tosca/internal/source"
)

// Archive is where the files are that templates name.
type Archive interface {
	fs.FS
	Stat(name string) (fs.FileInfo, error)
	ReadDir(name string) ([]fs.DirEntry, error)
}

// Options are what is not written in the documents.
type Options struct {
	Inputs map[string]any // values of topology inputs; a string may be YAML, and a Secret is one
	File   *InputFile     // Inputs win over it
	// Draft accepts what someone is still writing: what is incomplete is warned
	// of.
	Draft bool
	// Withhold leaves out the secrets among the user's inputs, and what depends on
	// them, once they are checked: a draft only.
	Withhold bool
	// Noun returns what a node of a type is called in messages, or an empty string
	// where it is a node template like any other. A node that has a noun is the
	// caller's: its values must be known before the application runs, its
	// requirements may have names that its type does not define as long as they
	// name a relationship, and the caller counts its hosts.
	Noun func(*inherit.NodeType) string
	// Attribute is what an attribute of a node is before the application runs; ok is
	// false where that is not known.
	Attribute func(n *Node, name string) (value string, ok bool)
	// Host, if there is one, is made where the caller's nodes leave their host to a
	// filter that nothing fulfils.
	Host *grammar.NodeTemplate
}

// InputFile is a file of inputs as the user named it, with its content.
type InputFile struct {
	Name string
	Data []byte
}

// Graph is a service template: whoever has resolved it goes on with its nodes and
// reports through it.
type Graph struct {
	*inherit.Index
	*Files
	Doc       *grammar.Document // the entry definition
	Topo      *grammar.Topology // nil: there is none
	Values    *data.Evaluator
	Nodes     []*Node // in the order written
	ByName    map[string]*Node
	Relations map[string]*Relation
	Groups    map[string]*Group
	Policies  []*Policy // in the order written
	Workflows map[string]*grammar.Workflow

	InputByName map[string]*Input // nil: not read yet
	flowInputs  map[string]*grammar.Property
	secrets     []string // texts that no message may have

	opts     Options
	root     *source.Node                    // stands for the entry definition
	sorted   []*Node                         // by name; nil: nobody asked
	defaults map[*data.Definition]data.Value // lists and maps that many nodes have
	refs     []ArtifactRef                   // what the markers of get_artifact stand for
}

// New makes the graph of some documents, the entry definition first. Nothing is in
// it before it is resolved.
func New(archive Archive, docs []*grammar.Document, opts Options) *Graph {
	ix := inherit.NewIndex(docs, opts.Draft)
	g := &Graph{
		Index: ix, Files: &Files{Collector: &ix.Collector, archive: archive, found: map[string]entry{}, lists: map[string][]string{}},
		Doc: docs[0], Topo: docs[0].Topology, opts: opts, defaults: map[*data.Definition]data.Value{}, root: source.Outside(docs[0].File),
	}
	g.Values = &data.Evaluator{Collector: &ix.Collector, Spend: g.Spend}
	if g.Topo != nil {
		g.Values.World = g
		g.indexWorkflows()
	}
	return g
}

func (g *Graph) indexWorkflows() {
	g.Workflows = make(map[string]*grammar.Workflow, len(g.Topo.Workflows))
	g.flowInputs = map[string]*grammar.Property{}
	for _, w := range g.Topo.Workflows {
		g.Workflows[w.Name] = w
		for _, p := range w.Inputs {
			if g.flowInputs[p.Name] == nil { // of several, the first
				g.flowInputs[p.Name] = p
			}
		}
	}
}

// Resolve makes all that is in the topology. The steps run one after the other; each
// reports all that it can and leaves out what it cannot make sense of, so that the
// next does not complain about the same mistake. The error is that of ctx.
func (g *Graph) Resolve(ctx context.Context) error {
	(&inputReader{Graph: g}).readInputs()
	l := &linker{Graph: g, offers: map[*grammar.Type]bool{}}
	for _, step := range []func(){g.makeNodes, g.makeRelations, g.makeGroups, g.makePolicies, l.linkNodes, g.findHosts, l.fill} {
		if err := ctx.Err(); err != nil {
			return err
		}
		step()
	}
	return nil
}

func quote(s string) string { return diag.Quote(s) }

// Holder is what has properties and attributes: a node, a capability, a
// relationship, a group, a policy or an artifact.
type Holder struct {
	Graph      *Graph
	Self       data.Entity
	Of         string // names it in messages
	Doc        *grammar.Document
	At         diag.Position
	Props      map[string]*data.Definition
	sorted     []string // the names of props; nil: not sorted yet
	Attrs      map[string]*data.Definition
	Whole      bool // there is nothing else that it could have
	needed     bool // its values must be known before the application runs
	Assigned   *source.Node
	AttrValues *source.Node
	values     map[string]*data.Value
	Explained  string // a property that is not there, and said so
}

func (h *Holder) Place(of string) data.Place { return data.Place{Of: of, Doc: h.Doc, Self: h.Self} }

// Property evaluates a property once: what is assigned, or else the default.
func (h *Holder) Property(name string) data.Value {
	if v := h.values[name]; v != nil {
		return *v
	}
	def, doc := h.Props[name], h.Doc
	written := h.Assigned.Get(name)
	if written.IsNull() {
		if v, known := h.Graph.defaults[def]; known {
			h.Graph.Spend(v.Size) // whoever prints it prints it again
			return v
		}
		written, doc = def.Fallback(), def.Doc
		if h.Graph.Values.Blamed(written) {
			return data.Value{Def: def}
		}
	}
	if written.IsNull() {
		return data.Value{Node: written, Def: def, Size: 1, OK: true}
	}
	if h.values == nil {
		h.values = map[string]*data.Value{}
	}
	v := &data.Value{Busy: true}
	h.values[name] = v
	p := h.Place(h.Of + ": property " + quote(name))
	p.Doc, p.Meant = doc, def
	*v = h.Graph.Values.Eval(written, p)
	v.Busy = false
	made := *v
	v.Def = def
	if h.needed && v.OK && v.Later != nil {
		h.Graph.RunTimeOnly(*v, p.Of)
		*v = data.Value{Def: def}
	}
	if v.OK && !v.Node.IsNull() && !h.Graph.Values.CheckValue(made.Moved(written), def, p) {
		*v = data.Value{Def: def}
	}
	plain := v.OK && v.Node == written && written == def.Fallback()
	v.Node = h.Graph.Values.Meant(v.Node, def)
	if plain && !written.IsScalar() { // no function is in it, so it is the same for all nodes
		h.Graph.defaults[def] = *v
	}
	return *v
}

// RunTimeOnly says that a value is needed that only a running application has.
// That a draft lacks an input was said where the input is.
func (g *Graph) RunTimeOnly(v data.Value, of string) {
	if strings.TrimPrefix(v.Later.Text, "$") == "get_input" {
		return
	}
	if v.Asked != nil && v.Asked.Doc != nil && v.Asked.Doc.Embedded && strings.HasPrefix(v.Asked.Doc.File, "tosker") { // TosKer's types declare it
		g.Warnf(v.Later.Pos(), code.FunctionRuntime, "%s: %s is known only when the application runs, so it is left out", of, v.Later.Text)
		return
	}
	g.Errorf(v.Later.Pos(), code.FunctionRuntime, "%s: %s is known only when the application runs", of, v.Later.Text)
}

// attribute evaluates an attribute as far as it can be known: most are known at
// run time only. Every property is an attribute, too (TOSCA 1.3, 3.6.10).
func (h *Holder) attribute(name string) (data.Value, data.Answer) {
	if written := h.AttrValues.Get(name); written != nil && h.Attrs[name] != nil {
		return h.Graph.Values.Eval(h.Described(written, h.Attrs[name]), h.Place(h.Of)), data.Found
	}
	if h.Props[name] != nil {
		return h.Property(name), data.Found
	}
	def := h.Attrs[name]
	switch {
	case def == nil && h.Whole:
		return data.Value{}, data.Missing
	case def == nil:
		return data.Value{}, data.Open
	case def.Fallback() != nil && !def.Fixed() && name != "state": // what a type fixes is a function of run time
		return data.Value{Node: def.Fallback(), Def: def, Size: 1, OK: true}, data.Found
	}
	return data.Value{Def: def}, data.Open
}

// get answers for properties and attributes.
func (h *Holder) get(m data.Member, name string) (data.Value, data.Answer) {
	switch {
	case m == data.Attribute:
		return h.attribute(name)
	case m != data.Property:
		return data.Value{}, data.Missing
	case h.Props[name] != nil:
		return h.Property(name), data.Found
	case !h.Whole:
		return data.Value{}, data.Open
	default:
		return data.Value{}, data.Missing
	}
}

func (h *Holder) MemberNames(m data.Member) []string {
	return inherit.MemberNames(m, h.PropertyNames(), h.Attrs)
}

// PropertyNames returns the names of the properties, sorted.
func (h *Holder) PropertyNames() []string {
	if h.sorted == nil {
		h.sorted = slices.Sorted(maps.Keys(h.Props))
	}
	return h.sorted
}

// PerProperty is the work that a property stands for: some hundred bytes are
// kept of each.
const PerProperty = 64

// Described returns the value of an attribute that is written with a description
// (TOSCA 1.3, 3.6.13.2.2).
func (h *Holder) Described(n *source.Node, def *data.Definition) *source.Node {
	value := n.Get("value")
	if value == nil || h.Doc.V2() || h.Graph.Values.Plain(def) == "map" || len(n.Keys) > 2 || len(n.Keys) == 2 && n.Get("description") == nil {
		return n
	}
	return value
}
