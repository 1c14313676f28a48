package grammar

import (
	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/source"
)

// Type is a type of any kind. Each kind uses the fields of its own keywords.
type Type struct {
	Kind         Kind
	Name         string
	Pos          diag.Position
	Doc          *Document
	DerivedFrom  Ref
	Version      Ref
	Properties   []*Property
	Empty        diag.Position // position of empty properties
	Attributes   []*Property
	Constraints  []*Constraint
	Validation   *source.Node // of 2.0, instead of Constraints
	Requirements []*RequirementDef
	Capabilities []*CapabilityDef
	Interfaces   []*Interface // an interface type has itself here
	Artifacts    []*Artifact
	Key, Entry   *Schema   // of a data type derived from map or list
	Scalar       ScalarDef // of a data type of 2.0 derived from scalar
	Targets      []Ref     // valid_target_types, targets of policy types, members of group types
	Sources      []Ref     // valid_source_types, valid_source_node_types of 2.0
	TargetNodes  []Ref     // valid_target_node_types of 2.0
	Relations    []Ref     // valid_relationship_types of 2.0
	Triggers     []*Trigger
	MIMEType     Ref
	FileExt      []Ref
	Unread       bool // a part is unreadable (already reported), so it may have any member
	written      *source.Node
}

// ScalarDef is the definition of a scalar type's units (TOSCA 2.0, 9.3.2).
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
	Short       *source.Node // of 1.x, if only Type is written
	EntryType   Ref          // type of the entries, if there is no deeper schema
	Description string
	Required    bool
	RequiredPos diag.Position // position of `required`
	Status      Ref
	Default     *source.Node
	Value       *source.Node // a fixed value
	Mapping     *source.Node // of an output or attribute that another one sets
	Constraints []*Constraint
	Validation  *source.Node  // of 2.0, instead of Constraints
	Entry       []*Constraint // of the entries of a list or map
	KeySchema   *Schema
	EntrySchema *Schema
}

// Schema is a schema of the keys or entries of a list or map (TOSCA 1.3, 3.6.9).
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
	Interfaces         []*Interface // of an inline refinement of the relationship
	RelationProperties []*Property  // of 2.0: of such a refinement
	RelationAttributes []*Property
	Related            diag.Position // position of such a refinement
	Filter             *NodeFilter
	Min, Max           int           // Max -1: unbounded
	Counted            diag.Position // position of occurrences or count_range
	Short              bool          // only its capability is written
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

// NodeFilter is a condition on the nodes to choose from (TOSCA 1.3, 3.6.5).
type NodeFilter struct {
	Pos          diag.Position
	Properties   []*PropertyFilter
	Capabilities []*CapabilityFilter
	Validation   *source.Node // of 2.0, instead of the other fields
}

// CapabilityFilter is a condition on a capability, by its name or type.
type CapabilityFilter struct {
	Name       string
	Pos        diag.Position
	Properties []*PropertyFilter
}

// PropertyFilter is a condition on a property (TOSCA 1.3, 3.6.4).
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
	File           string // its file, to which paths are relative
	Embedded       bool
	Implementation Ref
	Primary        *Artifact // the implementation, if it is an inline artifact
	Dependencies   []Ref
	Inline         []*Artifact // the inline artifacts of Dependencies
	Host           Ref         // operation_host
	Timeout        int         // seconds
	Inputs         []*Property
	Outputs        []*Property // each with the attribute that it is mapped to
}

// Artifact is an artifact of a template or type.
type Artifact struct {
	Name       string
	Pos        diag.Position
	In         string // its file, to which paths are relative
	Type       Ref
	File       Ref
	Repository Ref
	Version    Ref
	Checksum   Ref
	Algorithm  Ref
	Deploy     Ref
	Properties *source.Node
	Computed   []*source.Node // functions that compute its file, version or checksum
	long       bool           // written with keywords
}

// Artifacts returns the inline artifacts.
func (o *Operation) Artifacts() []*Artifact {
	if o.Primary == nil {
		return o.Inline
	}
	return append([]*Artifact{o.Primary}, o.Inline...)
}

// Untyped reports whether an artifact with keywords has no type.
func (a *Artifact) Untyped() bool { return a.long && a.Type.Name == "" }

// maxCompared bounds the values compared, as aliases can expand a short document to a
// large tree.
const maxCompared = 10000

// Same reports whether two types are equal. In 1.x, two files may define the same type,
// as imports of one namespace, name and version must be equivalent (TOSCA 1.0, 3.1.3.1).
// Parents are not compared, as they must be equivalent, too.
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

// same reports whether two values are equal; the order of keys does not matter.
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
