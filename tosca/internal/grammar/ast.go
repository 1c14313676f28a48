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
