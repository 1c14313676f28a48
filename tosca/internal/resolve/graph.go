// Package resolve makes a graph of a service template: node templates with their
// types and edges, relationships, groups, policies, and values evaluated as far as
// they can be known before the application runs. It reports what leads nowhere; what
// else TOSCA's rules say of a graph is package check's. What the nodes mean to
// somebody who runs them is no concern of it. It starts no goroutine.
package resolve

import (
	"context"
	"io/fs"

	"github.com/toskose/toskose/tosca/diag"
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
	Inputs map[string]any // values of topology inputs; a string may be YAML
	File   *InputFile     // Inputs win over it
	// Draft accepts what someone is still writing: what is incomplete is warned
	// of.
	Draft bool
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
