package data

import (
	"github.com/toskose/toskose/tosca/internal/source"
)

// World is the topology as functions see it.
type World interface {
	// Input returns the value of an input of the topology; of one that is Open, as it
	// is still to be given, the definition.
	Input(name string) (Value, Answer)
	// Inputs lists the inputs.
	Inputs() []string
	// Entity returns a node template, or else a relationship template or group, by
	// its name; nil if there is none.
	Entity(name string) Entity
	// Templates lists the names that Entity knows, for suggestions.
	Templates() []string
}

// Entity is a node, a relationship, a capability, or anything else that has
// properties.
type Entity interface {
	// Describe returns what the entity is and what messages call it.
	Describe() (EntityKind, string)
	// Lead returns what a step of a path leads to.
	Lead(Step) (Entity, Answer)
	// Get returns what the entity has of a name, evaluated; of what is Open, the
	// definition if there is one. The name of an Output is
	// an interface, an operation, and an output of it.
	Get(m Member, name ...string) (Value, Answer)
	// Names lists what there is of a kind, for messages. Of Output it lists the
	// interfaces, the operations of one, or the outputs of one operation; nil means
	// that this is not known.
	Names(m Member, of ...string) []string
}

// Answer says whether there is what was asked for.
type Answer uint8

// The answers.
const (
	Missing Answer = iota // there is no such thing, which is a mistake
	Open                  // there may be: it is left to the orchestrator, or to a file that is not at hand
	Found
)

// EntityKind says what steps lead on from an entity.
type EntityKind uint8

// The kinds of entities.
const (
	OtherEntity EntityKind = iota // a group, a policy, …
	NodeEntity
	RelationshipEntity
	CapabilityEntity
)

// Member is a kind of what entities have.
type Member uint8

// The kinds of members.
const (
	Property Member = iota
	Attribute
	Artifact
	Output
)

// Step is a step of a path (TOSCA 2.0, 10.3).
type Step struct {
	Kind  StepKind
	Name  string // of ToRelationship the requirement, of ToCapability the capability; "" for a relationship's own
	Index int    // of ToRelationship: which of several; All: every one
}

// All stands for every index.
const All = -1

// StepKind is where a step leads.
type StepKind uint8

// The steps. From a node lead ToRelationship, ToCapability and ToHost, which is
// the node it is hosted on; from a relationship ToSource, ToTarget, and
// ToCapability without a name; from a capability ToRelationship without one.
const (
	ToRelationship StepKind = iota
	ToCapability
	ToSource
	ToTarget
	ToHost
)

// Value is a value with what is known of it.
type Value struct {
	Node  *source.Node // nil or null: there is none
	Def   *Definition  // what it is defined to be; nil: not known
	Size  int          // values in it; 0 stands for not counted
	Input string       // the topology input that it is the whole value of
	OK    bool         // false: there is none, and a diagnostic says why
	Busy  bool         // it is under evaluation: whoever asks for it needs itself
	// Later is the function that only a running application can tell the value of;
	// the value holds nodes of the kind Later then.
	Later *source.Node
}

// Known makes a value of what is written.
func Known(n *source.Node) Value { return Value{Node: n, Size: 1, OK: true} }

// runTime makes a value that only a running application has. Its type is as far
// known as the definition says; fn is the function that asks for it.
func (e *Evaluator) runTime(fn *source.Node, d *Definition) Value {
	plain := ""
	if d != nil {
		plain = e.Plain(d)
	}
	return Value{Node: source.Scalar(source.Later, plain, fn), Def: d, Size: 1, OK: true, Later: fn}
}

// Anything is an entity of which nothing is known: the one that a type's
// functions will be about.
var Anything Entity = anything{}

type anything struct{}

func (anything) Describe() (EntityKind, string)         { return OtherEntity, "SELF" }
func (anything) Lead(Step) (Entity, Answer)             { return nil, Open }
func (anything) Get(Member, ...string) (Value, Answer)  { return Value{}, Open }
func (anything) Names(Member, ...string) (all []string) { return nil }
