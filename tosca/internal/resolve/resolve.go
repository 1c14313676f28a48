// Package resolve makes sense of a service template by TOSCA's own rules:
// types with all they inherit, node templates with their edges, every reference
// checked, and values evaluated as far as they can be known before the
// application runs. What the nodes mean to somebody who runs them is no concern
// of it. It starts no goroutine.
package resolve

import (
	"context"
	"io/fs"
	"maps"
	"slices"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
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
	// Noun gives what a node of a type is called in messages, or an empty string
	// where it is a node template like any other. A node that has a noun is the
	// caller's: its values must be known before the application runs, its
	// requirements may have names that its type does not define as long as they
	// name a relationship, and the caller counts its hosts.
	Noun func(*NodeType) string
}

// InputFile is a file of inputs as the user named it, with its content.
type InputFile struct {
	Name string
	Data []byte
}

// Service is a service template while it is resolved, and the result: whoever
// made it goes on with its nodes and reports through it. The steps run one
// after the other; each reports all that it can and leaves out what it cannot
// make sense of, so that the next does not complain about the same mistake.
type Service struct {
	diag.Collector
	Doc   *grammar.Document // the entry definition
	Topo  *grammar.Topology // nil: there is none, and said so
	Nodes []*Node           // in the order written

	docs      []*grammar.Document
	archive   Archive
	opts      Options
	eval      *data.Evaluator
	types     map[*grammar.Type]*Type
	flat      map[*grammar.Type]*NodeType
	faces     map[*grammar.Type]map[string]*Interface
	offers    map[*grammar.Type]bool // whether any node type has a capability
	inputs    map[string]*input
	unread    bool     // there is a file of inputs, and it cannot be read
	secrets   []string // texts that no message may have
	byName    map[string]*Node
	sorted    []*Node // by name; nil: nobody asked
	relations map[string]*relation
	groups    map[string]*group
	policies  []*policy
	flows     map[string]*grammar.Workflow
	filters   []*Edge                         // requirements that are left to a node filter
	exposed   map[[2]string]bool              // requirements of nodes that substitution_mappings map to; nil: not gathered yet
	root      *source.Node                    // stands for the entry definition
	defaults  map[*data.Definition]data.Value // lists and maps that many nodes have
	spent     int                             // work done
	limit     int                             // of it
	refs      []ArtifactRef                   // what the markers of get_artifact stand for
	lists     map[string][]string             // folders that were listed for a suggestion
	files     map[string]found                // what was looked for in the archive
	quiet     bool                            // nobody wants to hear of interfaces

	own        map[string]*data.Definition  // inputs of the workflow that is looked at
	flowInputs map[string]*grammar.Property // of all workflows; nil: nobody asked
}

// New makes the service template of some documents, the entry definition
// first.
func New(archive Archive, docs []*grammar.Document, opts Options) *Service {
	s := &Service{
		Doc: docs[0], Topo: docs[0].Topology, docs: docs, archive: archive, opts: opts,
		types: map[*grammar.Type]*Type{}, flat: map[*grammar.Type]*NodeType{}, faces: map[*grammar.Type]map[string]*Interface{},
		offers: map[*grammar.Type]bool{}, defaults: map[*data.Definition]data.Value{}, limit: maxWork,
		root: source.Outside(docs[0].File),
	}
	s.eval = &data.Evaluator{Collector: &s.Collector, Spend: s.Spend}
	if s.Topo != nil {
		s.eval.World = s
	}
	return s
}

// Eval evaluates every function in a value.
func (s *Service) Eval(n *source.Node, p data.Place) data.Value { return s.eval.Eval(n, p) }

// Check tells whether a value fits a definition, and says why it does not.
func (s *Service) Check(n *source.Node, d *data.Definition, p data.Place) bool {
	return s.eval.Check(n, d, p)
}

// Meant gives a value that fits a definition as the definition means it.
func (s *Service) Meant(n *source.Node, d *data.Definition) *source.Node { return s.eval.Meant(n, d) }

// Keys gives the keys of a map, sorted.
func Keys[V any](m map[string]V) []string {
	if len(m) == 0 {
		return nil
	}
	names := slices.AppendSeq(make([]string, 0, len(m)), maps.Keys(m))
	slices.Sort(names)
	return names
}

// suggestable is Keys as long as one of them may be suggested.
func suggestable[V any](s *Service, m map[string]V) []string {
	if !s.Suggesting() {
		return nil
	}
	return Keys(m)
}

// Resolve does all there is to do; the error is that of ctx.
func (s *Service) Resolve(ctx context.Context) error {
	if s.Doc.Scope() == nil || (s.Doc.Version == "" && s.Errors() > 0 && s.Topo == nil) {
		return nil // unreadable, and said so
	}
	s.readShort()
	s.checkTypes()
	if s.Topo == nil {
		s.checkRepositories()
		keyword := "topology_template"
		if second(s.Doc) {
			keyword = "service_template"
		}
		s.Incomplete(diag.Position{File: s.Doc.File}, codeNoTopology, "the file has no %s, so there is no application in it", keyword)
		return nil
	}
	s.readInputs()
	s.checkRepositories()
	for _, step := range []func(){
		s.makeNodes, s.makeRelations, s.makeGroups, s.linkNodes, s.findHosts, s.fill,
		s.checkNodes, s.checkNetworks, s.checkRelations, s.checkEdges, s.checkAllocations, s.checkGroups, s.checkPolicies, s.checkSubstitution,
		s.checkWorkflows, s.checkOutputs, s.checkUnused,
	} {
		if err := ctx.Err(); err != nil {
			return err
		}
		step()
	}
	return nil
}

// maxWork bounds what a document makes of itself: values inherited by many
// types, compared with many others, or written out many times. The unit is a
// value or a byte; a topology of 100,000 nodes needs a tenth of it.
const maxWork = 200 << 20

// Spend counts work; it is false when there was too much, which is reported
// once. Whoever is told so leaves the rest undone.
func (s *Service) Spend(n int) bool {
	before := s.spent
	s.spent = min(s.spent+n, 2*s.limit)
	if before <= s.limit && s.spent > s.limit {
		s.Errorf(diag.Position{File: s.Doc.File}, codeWork, "the document is too large once its types and functions are worked out")
	}
	return !s.Spent()
}

// Spent tells whether there was too much work.
func (s *Service) Spent() bool { return s.spent > s.limit }

// Incomplete reports what a draft may lack, and nothing else.
func (s *Service) Incomplete(at diag.Position, code, format string, args ...any) {
	if s.opts.Draft {
		s.Warnf(at, code, format, args...)
		return
	}
	s.Errorf(at, code, format, args...)
}
