// Package grammar reads service templates into definitions as they are written. It knows
// all keywords and unifies notations, but inherits and evaluates nothing. It follows
// imports within an archive, has TosKer's types and the normative types embedded, and
// starts no goroutine.
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

// Ref is a name with its position. The zero value means that no name is written.
type Ref struct {
	Name string
	Pos  diag.Position
}

// Document is one file.
type Document struct {
	File         string
	Pos          diag.Position
	Version      string
	Embedded     bool // not in the archive
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
	InputsRead   map[string]bool // inputs that a get_input anywhere in the file names

	keywords []*source.Node
	imported []importedDoc
	open     bool        // an import is missing
	unread   [kinds]bool // types of this kind are unreadable (already reported)
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

// Repository is a location of artifacts.
type Repository struct {
	Pos        diag.Position
	URL        string
	Credential *source.Node
}

// FunctionDef defines a function (TOSCA 2.0, 10.4).
type FunctionDef struct {
	Name        string
	Pos         diag.Position
	Doc         *Document // resolves the types of the signatures
	Signatures  []*Signature
	Description string
	Local       bool // in a service template, where it refines another definition
}

// Signature is one way of calling a function of 2.0.
type Signature struct {
	Pos            diag.Position
	Arguments      []*Schema
	Optional       []*Schema
	Variadic       *Schema    // of the last argument, if it may be repeated
	Result         *Schema    // nil for any
	Implementation *Operation // nil if built into the processor
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
	Definition *Property // with type and constraints, if any
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
	Abstract     diag.Position // position of its node_filter or select directive
	Filter       *NodeFilter
	Count        *source.Node // of 2.0
	Properties   *source.Node
	Attributes   *source.Node
	Requirements []*Requirement
	Capabilities []*Capability
	Interfaces   []*Interface
	Artifacts    []*Artifact
}

// Capability assigns properties to a capability of a template.
type Capability struct {
	Name       string
	Pos        diag.Position
	Type       Ref // if 1.x has the name of a type in place of assignments
	Properties *source.Node
	Attributes *source.Node
	Directives []Ref        // of 2.0
	Counted    *source.Node // occurrences of 1.3
}

// Requirement is a requirement of a template. Most requirements only name a node.
type Requirement struct {
	Name string
	Pos  diag.Position
	Node Ref
	*details
}

// details are the rare keywords of a requirement. Requirements without any share
// noDetails.
type details struct {
	Index        *source.Node // of 2.0: of the node made from the template Node
	Capability   Ref
	Relationship Ref                   // a relationship template or type
	Inline       *RelationshipTemplate // an inline relationship; nil if none
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

// Trigger is a trigger of a policy. Only its names are kept (TOSCA 1.3, 3.6.22).
type Trigger struct {
	Name    string
	Pos     diag.Position
	Target  Ref   // the node template or type that it watches
	Inlined []Ref // workflows
}

// Workflow is an imperative workflow. Only its inputs and names are kept (TOSCA 1.3,
// 3.8.7).
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

// Substitution describes the node type that a topology can replace. Only its names are
// kept (TOSCA 1.3, 3.8.13).
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
