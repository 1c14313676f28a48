package grammar

import (
	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/source"
)

// Type is a type of any kind; each kind uses the fields that its keywords fill.
type Type struct {
	Kind         Kind
	Name         string
	Pos          diag.Position
	Doc          *Document
	DerivedFrom  Ref
	Version      Ref
	Properties   []*Property
	Empty        diag.Position // where properties are written without any
	Attributes   []*Property
	Constraints  []*Constraint
	Validation   *source.Node // of 2.0, instead of Constraints
	Requirements []*RequirementDef
	Capabilities []*CapabilityDef
	Interfaces   []*Interface // of an interface type: itself, once
	Artifacts    []*Artifact
	Key, Entry   *Schema   // of a data type that is derived from map or list
	Scalar       ScalarDef // of a data type of 2.0 that is derived from scalar
	Targets      []Ref     // valid_target_types, targets of policy types, members of group types
	Sources      []Ref     // valid_source_types, valid_source_node_types of 2.0
	TargetNodes  []Ref     // valid_target_node_types of 2.0
	Relations    []Ref     // valid_relationship_types of 2.0
	Triggers     []*Trigger
	MIMEType     Ref
	FileExt      []Ref
	Unread       bool // of its parts, one could not be read, and that was said: it may have anything
	written      *source.Node
}

// ScalarDef is what a data type of 2.0 that is derived from scalar says of its
// units (TOSCA 2.0, 9.3.2).
type ScalarDef struct {
	DataType  Ref
	Units     *source.Node
	Prefixes  *source.Node
	Canonical Ref
}

// Property defines a property, an attribute, an input or a parameter.
type Property struct {
	Name        string
	Pos         diag.Position
	Type        Ref
	Short       *source.Node // of 1.x, where Type is all that is written
	EntryType   Ref          // of Schema's entries, for the many that have no more than one level
	Description string
	Required    bool
	RequiredPos diag.Position // where `required` is written, if it is
	Status      Ref
	Default     *source.Node
	Value       *source.Node // fixed where it is defined
	Mapping     *source.Node // of an output or attribute that is set by another
	Constraints []*Constraint
	Validation  *source.Node  // of 2.0, instead of Constraints
	Entry       []*Constraint // of the entries of a list or map
	KeySchema   *Schema
	EntrySchema *Schema
}

// Schema is what the keys or entries of a list or map are (TOSCA 1.3, 3.6.9).
type Schema struct {
	Pos         diag.Position
	Type        Ref
	Constraints []*Constraint
	Validation  *source.Node
	Key, Entry  *Schema
	Untyped     bool // of 2.0: the type is inherited
}

// Constraint is one constraint clause (TOSCA 1.3, 3.6.3).
type Constraint struct {
	Pos      diag.Position
	Operator string
	Operand  *source.Node
}

// RequirementDef defines a requirement of a node type.
type RequirementDef struct {
	Name               string
	Pos                diag.Position
	Capability         Ref // a type, or the name of a capability of the node type
	Node               Ref
	Relationship       Ref
	Interfaces         []*Interface // of a relationship refined in place
	RelationProperties []*Property  // of 2.0, of such a relationship
	RelationAttributes []*Property
	Related            diag.Position // where such a relationship is written, if it is
	Filter             *NodeFilter
	Min, Max           int           // Max -1: unbounded
	Counted            diag.Position // where occurrences or count_range is written, if it is
	Short              bool          // written as its capability alone
}

// CapabilityDef defines a capability of a node type.
type CapabilityDef struct {
	Name       string
	Pos        diag.Position
	Type       Ref
	Properties []*Property
	Attributes []*Property
	Sources    []Ref // valid_source_types
	Relations  []Ref // valid_relationship_types of 2.0
	Min, Max   int   // Max -1: unbounded
}

// NodeFilter says which nodes may be chosen (TOSCA 1.3, 3.6.5).
type NodeFilter struct {
	Pos          diag.Position
	Properties   []*PropertyFilter
	Capabilities []*CapabilityFilter
	Validation   *source.Node // of 2.0, a condition instead of both
}

// CapabilityFilter is what a capability, named by its name or type, must have.
type CapabilityFilter struct {
	Name       string
	Pos        diag.Position
	Properties []*PropertyFilter
}

// PropertyFilter is what a property must fulfil (TOSCA 1.3, 3.6.4).
type PropertyFilter struct {
	Name        string
	Pos         diag.Position
	Constraints []*Constraint
}

// Interface is a set of operations, defined in a type or assigned in a template.
type Interface struct {
	Name          string
	Pos           diag.Position
	Type          Ref
	Inputs        []*Property
	Operations    []*Operation
	Notifications []*Operation
}

// Operation is an operation or notification, defined or assigned.
type Operation struct {
	Name           string
	Pos            diag.Position
	File           string // the one it is written in: paths are relative to it
	Embedded       bool
	Implementation Ref
	Primary        *Artifact // of an implementation that is an artifact written in place
	Dependencies   []Ref
	Inline         []*Artifact // those of Dependencies that are artifacts written in place
	Host           Ref         // operation_host
	Timeout        int         // seconds
	Inputs         []*Property
	Outputs        []*Property // attribute mappings: what each is written to is its Mapping
}

// Artifact is an artifact of a template or type.
type Artifact struct {
	Name       string
	Pos        diag.Position
	In         string // the file it is written in: paths are relative to it
	Type       Ref
	File       Ref
	Repository Ref
	Version    Ref
	Checksum   Ref
	Algorithm  Ref
	Deploy     Ref
	Properties *source.Node
	Computed   []*source.Node // the functions that stand for its file, version or checksum
	long       bool           // written with keywords, and not as its file alone
}

// Artifacts returns those that are written in place.
func (o *Operation) Artifacts() []*Artifact {
	if o.Primary == nil {
		return o.Inline
	}
	return append([]*Artifact{o.Primary}, o.Inline...)
}

// Untyped reports whether the type is left out where keywords are written, so
// that nothing says what the artifact is.
func (a *Artifact) Untyped() bool { return a.long && a.Type.Name == "" }

// maxCompared bounds how many values of two definitions are compared: aliases
// make a document of few lines a tree of many values.
const maxCompared = 10000

// Same reports whether two types are one: also where two files of 1.x define it in
// the same words, for what is imported with one namespace, name and version has
// to be equivalent (TOSCA 1.0, 3.1.3.1). That their parents are the same is not
// looked at, for these have to be so, too.
func (t *Type) Same(other *Type) bool {
	if t == other {
		return true
	}
	if t.Kind != other.Kind || t.Name != other.Name || t.Doc.Namespace.Name != other.Doc.Namespace.Name || t.Doc.Version == version20 || other.Doc.Version == version20 {
		return false
	}
	left := maxCompared
	return t.written != nil && other.written != nil && same(t.written, other.written, &left)
}

// same reports whether two values are written alike; the order of keys says
// nothing.
func same(a, b *source.Node, left *int) bool {
	*left--
	switch {
	case *left < 0:
		return false
	case a.IsNull() || b.IsNull():
		return a.IsNull() && b.IsNull()
	case a.Kind != b.Kind || a.Text != b.Text || len(a.Items) != len(b.Items):
		return false
	}
	for i, item := range a.Items {
		other := b.Items[i]
		if a.Kind == source.Map {
			other = b.Get(a.Keys[i].Text)
		}
		if (other == nil) || !same(item, other, left) {
			return false
		}
	}
	return true
}
