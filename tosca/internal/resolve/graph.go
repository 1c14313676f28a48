// Package resolve makes a graph of a service template: nodes with their types and edges,
// relationships, groups, policies, and values as far as they are known before run time.
// It reports unresolved references; package check reports violations of other rules. It
// starts no goroutine.
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

// Archive holds the files that templates name.
type Archive interface {
	fs.FS
	Stat(name string) (fs.FileInfo, error)
	ReadDir(name string) ([]fs.DirEntry, error)
}

// Options are settings from outside of the documents.
type Options struct {
	Inputs map[string]any // by name; a string may be YAML, and a Secret is a string
	File   *InputFile     // Inputs take precedence
	// Draft turns errors about incomplete parts into warnings.
	Draft bool
	// Withhold removes the user's secrets, and values that depend on them, after they
	// are checked. It requires Draft.
	Withhold bool
	// Noun returns the noun for nodes of a type in messages, or an empty string for
	// other nodes. The caller owns nodes with a noun. The values of an owned node must
	// be known before run time, its requirements may have names that its type does not
	// define if they name a relationship, and the caller checks its hosts.
	Noun func(*inherit.NodeType) string
	// Attribute returns an attribute of an owned node before run time, if known.
	Attribute func(n *Node, name string) (value string, ok bool)
	// Host is added for owned nodes whose filter for a host no node passes. It may be
	// nil.
	Host *grammar.NodeTemplate
}

// InputFile is a file of inputs as the user named it, with its content.
type InputFile struct {
	Name string
	Data []byte
}

// Graph is a service template.
type Graph struct {
	*inherit.Index
	*Files
	Doc       *grammar.Document // the entry definition
	Topo      *grammar.Topology // nil if the document has none
	Values    *data.Evaluator
	Nodes     []*Node // as written
	ByName    map[string]*Node
	Relations map[string]*Relation
	Groups    map[string]*Group
	Policies  []*Policy // as written
	Workflows map[string]*grammar.Workflow

	InputByName map[string]*Input // nil until read
	flowInputs  map[string]*grammar.Property
	secrets     []string // hidden in messages

	opts     Options
	root     *source.Node                    // the position of the entry definition
	sorted   []*Node                         // by name; nil until needed
	defaults map[*data.Definition]data.Value // shared lists and maps
	refs     []ArtifactRef                   // by the number of a get_artifact marker
}

// New returns an unresolved graph of some documents, the entry definition first.
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
			if g.flowInputs[p.Name] == nil { // the first of a name wins
				g.flowInputs[p.Name] = p
			}
		}
	}
}

// Resolve fills the graph step by step. Each step reports all its errors and omits what
// it could not resolve, so that the next steps do not report the same error again. It
// returns the error of ctx.
func (g *Graph) Resolve(ctx context.Context) error {
	(&inputReader{Graph: g}).readInputs()
	l := &linker{Graph: g, offers: map[*grammar.Type]bool{}}
	for _, step := range []func(){g.makeNodes, g.makeRelations, g.makeGroups, g.makePolicies, l.linkNodes, g.findHosts, l.applyFilters} {
		if err := ctx.Err(); err != nil {
			return err
		}
		step()
	}
	return nil
}

func quote(s string) string { return diag.Quote(s) }

// Holder is the part of a node, capability, relationship, group, policy or artifact that
// has properties and attributes.
type Holder struct {
	Graph      *Graph
	Self       data.Entity
	Of         string // for messages
	Doc        *grammar.Document
	At         diag.Position
	Props      map[string]*data.Definition
	sorted     []string // names of Props; nil until needed
	Attrs      map[string]*data.Definition
	Complete   bool // its types are known, so it has no other members
	needed     bool // its values must be known before run time
	Assigned   *source.Node
	AttrValues *source.Node
	values     map[string]*data.Value
	Explained  string // an unknown property, already reported
}

func (h *Holder) Place(of string) data.Place { return data.Place{Of: of, Doc: h.Doc, Self: h.Self} }

// Property returns a property: the assigned value, or else the default. It is evaluated
// once.
func (h *Holder) Property(name string) data.Value {
	if v := h.values[name]; v != nil {
		return *v
	}
	def, doc := h.Props[name], h.Doc
	written := h.Assigned.Get(name)
	if written.IsNull() {
		if v, known := h.Graph.defaults[def]; known {
			h.Graph.Spend(v.Size) // each printed copy is work
			return v
		}
		written, doc = def.Fallback(), def.Doc
		if h.Graph.Values.IsInvalid(written) {
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
	p.Doc, p.Want = doc, def
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
	v.Node = h.Graph.Values.Convert(v.Node, def)
	if plain && !written.IsScalar() { // without functions, so the same for all nodes
		h.Graph.defaults[def] = *v
	}
	return *v
}

// RunTimeOnly reports a value that must be known before run time and is not. A draft's
// missing input is reported at the input.
func (g *Graph) RunTimeOnly(v data.Value, of string) {
	if strings.TrimPrefix(v.Later.Text, "$") == "get_input" {
		return
	}
	if v.LaterDef != nil && v.LaterDef.Doc != nil && v.LaterDef.Doc.Embedded && strings.HasPrefix(v.LaterDef.Doc.File, "tosker") { // declared by TosKer's types
		g.Warnf(v.Later.Pos(), code.FunctionRuntime, "%s: %s is known only when the application runs, so it is left out", of, v.Later.Text)
		return
	}
	g.Errorf(v.Later.Pos(), code.FunctionRuntime, "%s: %s is known only when the application runs", of, v.Later.Text)
}

// attribute evaluates an attribute as far as it is known before run time. Every property
// is an attribute, too (TOSCA 1.3, 3.6.10).
func (h *Holder) attribute(name string) (data.Value, data.Answer) {
	if written := h.AttrValues.Get(name); written != nil && h.Attrs[name] != nil {
		return h.Graph.Values.Eval(h.Described(written, h.Attrs[name]), h.Place(h.Of)), data.Found
	}
	if h.Props[name] != nil {
		return h.Property(name), data.Found
	}
	def := h.Attrs[name]
	switch {
	case def == nil && h.Complete:
		return data.Value{}, data.Missing
	case def == nil:
		return data.Value{}, data.Open
	case def.Fallback() != nil && !def.Fixed() && name != "state": // a fixed value is a function of run time
		return data.Value{Node: def.Fallback(), Def: def, Size: 1, OK: true}, data.Found
	}
	return data.Value{Def: def}, data.Open
}

// get returns a property or attribute.
func (h *Holder) get(m data.Member, name string) (data.Value, data.Answer) {
	switch {
	case m == data.Attribute:
		return h.attribute(name)
	case m != data.Property:
		return data.Value{}, data.Missing
	case h.Props[name] != nil:
		return h.Property(name), data.Found
	case !h.Complete:
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

// PerProperty is the work of a property, which takes some hundred bytes.
const PerProperty = 64

// Described returns the value of an attribute that may have a description (TOSCA 1.3,
// 3.6.13.2.2).
func (h *Holder) Described(n *source.Node, def *data.Definition) *source.Node {
	value := n.Get("value")
	if value == nil || h.Doc.V2() || h.Graph.Values.Plain(def) == "map" || len(n.Keys) > 2 || len(n.Keys) == 2 && n.Get("description") == nil {
		return n
	}
	return value
}
