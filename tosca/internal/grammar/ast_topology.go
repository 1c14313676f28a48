package grammar

import (
	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/source"
)

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

// Trigger says what a policy does, and when (TOSCA 1.3, 3.6.22).
type Trigger struct {
	Name      string
	Pos       diag.Position
	Event     Ref
	Schedule  *source.Node
	Target    *EventFilter
	Condition *source.Node // a condition clause, or a map that holds one
	Action    []*Activity

	// How often and for how long the condition must hold, where that is not said
	// within it.
	Period, Evaluations, Method *source.Node
}

// EventFilter is the node, and of it the requirement or capability, that an
// event is watched on (TOSCA 1.3, 3.6.21).
type EventFilter struct {
	Pos                           diag.Position
	Node, Requirement, Capability Ref
}

// Workflow is an imperative workflow (TOSCA 1.3, 3.8.7).
type Workflow struct {
	Name           string
	Pos            diag.Position
	Inputs         []*Property
	Preconditions  []*Precondition
	Steps          []*Step
	Outputs        []*Property
	Implementation *Operation // nil: the steps say it
}

// Precondition is what must hold before a workflow runs.
type Precondition struct {
	Pos            diag.Position
	Target         Ref
	TargetRelation Ref
	Condition      *source.Node
}

// Step is a step of a workflow.
type Step struct {
	Name           string
	Pos            diag.Position
	Target         Ref
	TargetRelation Ref
	Host           Ref
	Filter         *source.Node
	Activities     []*Activity
	OnSuccess      []Ref
	OnFailure      []Ref
}

// ActivityKind is what an activity does (TOSCA 1.3, 3.6.23).
type ActivityKind string

// The kinds of activities.
const (
	Delegate      ActivityKind = "delegate"
	SetState      ActivityKind = "set_state"
	CallOperation ActivityKind = "call_operation"
	InlineFlow    ActivityKind = "inline"
)

// Activity is one activity of a step or trigger.
type Activity struct {
	Kind   ActivityKind
	Pos    diag.Position
	Ref    Ref // the workflow, state or operation
	Inputs []*Property
	State  *source.Node // a function that makes the state
}

// Substitution says what a topology can stand for (TOSCA 1.3, 3.8.13).
type Substitution struct {
	Pos          diag.Position
	NodeType     Ref
	Filter       *NodeFilter
	Properties   []*Mapping
	Attributes   []*Mapping
	Capabilities []*Mapping
	Requirements []*Mapping
	Interfaces   []*Mapping // of an interface, each operation has its own in Parts
}

// Mapping maps a property, attribute, capability, requirement or operation of
// the substituted node to one inside the topology.
type Mapping struct {
	Name       string
	Pos        diag.Position
	To         []Ref        // the path, such as a node template and its capability
	Value      *source.Node // a value in its place; of a capability or requirement its properties
	Attributes *source.Node // of a capability or requirement
	Parts      []*Mapping
	Count      int // of a requirement: how many of it are mapped so; -1: all that are left
}
