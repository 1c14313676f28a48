// Package grammar reads service templates of the TOSCA Simple Profile into
// definitions as they are written: every keyword known, every notation made
// one, nothing inherited or evaluated yet. It follows imports within an
// archive, serves TosKer's types and the normative ones from what is embedded,
// and starts no goroutine.
package grammar

import (
	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/source"
)

// Kind is a kind of types.
type Kind uint8

// The kinds of types (TOSCA 1.3, 3.7).
const (
	NodeType Kind = iota
	RelationshipType
	CapabilityType
	InterfaceType
	ArtifactType
	DataType
	GroupType
	PolicyType
	kinds
)

// String names the kind.
func (k Kind) String() string {
	return [...]string{
		"node type", "relationship type", "capability type", "interface type",
		"artifact type", "data type", "group type", "policy type",
	}[k]
}

// Ref is a name where it is written; its zero value means that none is.
type Ref struct {
	Name string
	Pos  diag.Position
}

// Document is one file.
type Document struct {
	File         string
	Pos          diag.Position
	Version      string
	Embedded     bool // its file is not in the archive
	Name         string
	AppVersion   string
	Description  string
	Namespace    Ref // of 1.x: namespace, or tosca_default_namespace
	Profile      Ref // of 2.0: the profile that the file defines
	Imports      []Import
	Repositories map[string]*Repository
	Types        [kinds][]*Type
	Functions    []*FunctionDef  // of 2.0
	Topology     *Topology       // topology_template, or service_template of 2.0
	InputsRead   map[string]bool // names that a get_input in the file names, wherever it stands

	keywords []*source.Node
	imported []importedDoc
	open     bool        // something that it imports is not at hand
	unread   [kinds]bool // its types of a kind could not be read, and that was said
	scope    *Scope
}

// Import is an import of another file, or of a profile.
type Import struct {
	Pos        diag.Position
	File       string // a path or URL
	Profile    string // of 2.0, instead of File
	Repository string
	Prefix     string // namespace_prefix, or namespace in 2.0
	URI        Ref    // namespace_uri of 1.x
}

// Repository is a place where artifacts are.
type Repository struct {
	Pos        diag.Position
	URL        string
	Credential *source.Node
}

// FunctionDef defines a function (TOSCA 2.0, 10.4).
type FunctionDef struct {
	Name        string
	Pos         diag.Position
	Doc         *Document // whose names the signatures use
	Signatures  []*Signature
	Description string
	Local       bool // it stands in a service template, and refines one outside
}

// Signature is one way of calling a function of 2.0.
type Signature struct {
	Pos            diag.Position
	Arguments      []*Schema
	Optional       []*Schema
	Variadic       *Schema    // of the last argument, which may be there many times; nil: it may not
	Result         *Schema    // nil: anything
	Implementation *Operation // nil: the processor knows it
}

// Topology is a topology template, or a service template of 2.0.
type Topology struct {
	Pos           diag.Position
	Description   string
	Inputs        []*Property
	Nodes         []*NodeTemplate
	Relationships map[string]*RelationshipTemplate
	Groups        []*Group
	Policies      []*Policy
	Outputs       []*Output
	Substitution  *Substitution
	Workflows     []*Workflow

	keywords []*source.Node
}

// Output is an output of a topology.
type Output struct {
	Name       string
	Pos        diag.Position
	Definition *Property // with its type and constraints, if it has any
	Value      *source.Node
}

// NodeTemplate is a node template.
type NodeTemplate struct {
	Name         string
	Pos          diag.Position
	Doc          *Document
	Type         Ref
	Copy         Ref
	Directives   []Ref
	Abstract     diag.Position // of its node_filter or select directive, if one
	Filter       *NodeFilter
	Count        *source.Node // of 2.0
	Properties   *source.Node
	Attributes   *source.Node
	Requirements []*Requirement
	Capabilities []*Capability
	Interfaces   []*Interface
	Artifacts    []*Artifact
}

// Capability assigns a capability's properties in a template.
type Capability struct {
	Name       string
	Pos        diag.Position
	Type       Ref // where 1.x has a type's name in place of values
	Properties *source.Node
	Attributes *source.Node
	Directives []Ref        // of 2.0
	Counted    *source.Node // occurrences of 1.3
}

// Requirement is a requirement of a template. Most of the many that there are
// name a node, and no more.
type Requirement struct {
	Name string
	Pos  diag.Position
	Node Ref
	*details
}

// details are what a requirement may say besides. All that say nothing have
// those of noDetails.
type details struct {
	Index        *source.Node // of 2.0: which of the nodes made from the template Node
	Capability   Ref
	Relationship Ref                   // a relationship template or type
	Inline       *RelationshipTemplate // of a relationship written in place; nil: none
	Properties   *source.Node          // of Inline
	Filter       diag.Position
	NodeFilter   *NodeFilter
	Count        *source.Node // occurrences, or count of 2.0
	Directives   []Ref        // of 2.0
	Optional     *source.Node // of 2.0
	Allocation   *source.Node // of 2.0
}

var noDetails = &details{}

// RelationshipTemplate is a relationship template.
type RelationshipTemplate struct {
	Name       string
	Pos        diag.Position
	Type       Ref
	Copy       Ref
	Properties *source.Node
	Attributes *source.Node
	Interfaces []*Interface
}

// Group is a group of templates.
type Group struct {
	Name       string
	Pos        diag.Position
	Type       Ref
	Members    []Ref
	Properties *source.Node
	Attributes *source.Node
	Interfaces []*Interface
}

// Policy is a policy on templates and groups.
type Policy struct {
	Name       string
	Pos        diag.Position
	Type       Ref
	Targets    []Ref
	Properties *source.Node
	Triggers   []*Trigger
}

// Trigger is a trigger of a policy, of which only names are kept (TOSCA 1.3, 3.6.22).
type Trigger struct {
	Name    string
	Pos     diag.Position
	Target  Ref   // the node template or type that it watches
	Inlined []Ref // workflows
}

// Workflow is an imperative workflow, of which only inputs and names are kept
// (TOSCA 1.3, 3.8.7).
type Workflow struct {
	Name          string
	Pos           diag.Position
	Inputs        []*Property
	Preconditions []Ref // their targets
	Steps         []*Step
}

// Step is a step of a workflow.
type Step struct {
	Name    string
	Pos     diag.Position
	Target  Ref
	Next    []Ref // steps
	Inlined []Ref // workflows
}

// Substitution describes the node type that a topology can replace, of which only
// names are kept (TOSCA 1.3, 3.8.13).
type Substitution struct {
	Pos          diag.Position
	NodeType     Ref
	Properties   []*Mapping
	Attributes   []*Mapping
	Capabilities []*Mapping
	Requirements []*Mapping
	Operations   []*Mapping // by "interface.operation"
}

// Mapping maps a property, attribute, capability, requirement or operation of
// the substituted node to one inside the topology.
type Mapping struct {
	Name  string
	Pos   diag.Position
	To    []Ref // the path, such as a node template and its capability
	Parts []*Mapping
}
