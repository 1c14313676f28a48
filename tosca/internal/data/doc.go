// Package data says what values mean: the data types of TOSCA from 1.0 to 2.0,
// which values fit them, how values compare, what constraints and validation
// clauses demand, and what functions make. Whatever a function may name is
// behind the interfaces World and Entity, so that the package knows no
// topology. What only a running application knows stays in a value as a node of
// the kind Later, and everything around it is checked all the same. The package
// starts no goroutine.
package data

import (
	"regexp"
	"slices"
	"strings"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/grammar"
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
	Asked *Definition // what Later asks for is defined to be
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
	return Value{Node: source.Scalar(source.Later, plain, fn), Def: d, Size: 1, OK: true, Later: fn, Asked: d}
}

// Anything is an entity of which nothing is known: the one that a type's
// functions will be about.
var Anything Entity = anything{}

type anything struct{}

func (anything) Describe() (EntityKind, string)         { return OtherEntity, "SELF" }
func (anything) Lead(Step) (Entity, Answer)             { return nil, Open }
func (anything) Get(Member, ...string) (Value, Answer)  { return Value{}, Open }
func (anything) Names(Member, ...string) (all []string) { return nil }

// The bounds of what functions make. A concat of two concats of two… doubles
// at each step, so what is short to write can be too long for any machine.
const (
	MaxText   = 128 << 10 // bytes of one string: a variable holds no more (execve(2), MAX_ARG_STRLEN)
	maxValues = 1 << 18   // values in one list or map, nested ones counted
	maxNested = 2000      // functions, one within the value of another
	maxChain  = 100       // types that a type is derived through
)

// Marker stands around what names the path of an artifact inside a container,
// which is not known before packaging. No document can hold the character.
const Marker = "\uFFFE"

// Evaluator evaluates values and checks them. It is for one goroutine.
type Evaluator struct {
	*diag.Collector
	World World // nil: there is no topology, as in a file of types
	// Spend counts work and is false when there was too much of it, which it
	// reports itself.
	Spend func(int) bool

	types    map[*grammar.Type]*Type
	plain    map[builtinName]*Type
	patterns map[string]pattern
	refused  map[*source.Node]bool // validation clauses that were reported
	nested   int                   // functions under evaluation, one within the other
	blamed   map[*source.Node]bool // defaults and fixed values that are wrong, and said so
	quiet    int                   // above 0, nothing is reported
	failed   int                   // errors that were not reported for that
}

// builtinName is the name of a built-in type in a family.
type builtinName struct {
	name   string
	second bool
}

type pattern struct {
	*regexp.Regexp
	err error
}

// Mute makes an evaluator that only reports whether, and never why not.
func (e *Evaluator) Mute() *Evaluator {
	e.quiet++
	return e
}

func (e *Evaluator) errorf(at diag.Position, code, format string, args ...any) {
	if e.quiet > 0 {
		e.failed++
		return
	}
	e.Errorf(at, code, format, args...)
}

func (e *Evaluator) warnf(at diag.Position, code, format string, args ...any) {
	if e.quiet == 0 {
		e.Warnf(at, code, format, args...)
	}
}

func (e *Evaluator) unknown(at diag.Position, code, name string, candidates []string, format string, args ...any) string {
	if e.quiet > 0 {
		e.failed++
		return ""
	}
	return e.Unknown(at, code, name, candidates, format, args...)
}

// wrong counts errors, whether they were reported or not.
func (e *Evaluator) wrong() int { return e.Errors() + e.failed }

func (e *Evaluator) spend(n int) bool { return e.Spend == nil || e.Spend(n) }

func quote(s string) string { return diag.Quote(s) }

// Settled reports whether all of a value is known before the application runs.
func Settled(n *source.Node) bool { return !hasLater(n) }

// hasLater reports whether a part of a value is known only at run time. A string
// with the path of an artifact is such a part.
func hasLater(n *source.Node) bool {
	if n == nil {
		return false
	}
	if n.IsScalar() {
		return n.Kind == source.Later || (n.Kind == source.String && strings.Contains(n.Text, Marker))
	}
	return slices.ContainsFunc(n.Items, hasLater)
}
