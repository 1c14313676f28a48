// Package data evaluates and checks values: the data types of TOSCA 1.0 to 2.0,
// comparison, constraints, validation clauses and functions. It sees the topology
// through the interfaces World and Entity. A value known only at run time is a node of
// the kind Later; everything around it is still checked. The package starts no
// goroutine.
package data

import (
	"regexp"
	"slices"
	"strings"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

// World is the topology that functions refer to.
type World interface {
	// Input returns the value of a topology input. If the input is Open, the value has a
	// definition only.
	Input(name string) (Value, Answer)
	// Inputs lists the inputs.
	Inputs() []string
	// Entity returns a node template, relationship template or group by its name, or
	// nil.
	Entity(name string) Entity
	// Templates lists the names that Entity knows, for suggestions.
	Templates() []string
}

// Entity is a node, relationship, capability, or another owner of properties.
type Entity interface {
	// Describe returns the kind of the entity, and its name for messages.
	Describe() (EntityKind, string)
	// Follow follows a step of a path.
	Follow(Step) (Entity, Answer)
	// Get returns the evaluated member of a name. If it is Open, the value has a
	// definition at most. The name of an Output is an interface, an operation, and an
	// output.
	Get(m Member, name ...string) (Value, Answer)
	// Names lists members for messages. For Output it lists the interfaces, the
	// operations of an interface, or the outputs of an operation; nil means unknown.
	Names(m Member, of ...string) []string
}

// Answer is the result of a lookup.
type Answer uint8

// The answers.
const (
	Missing Answer = iota // an error: it does not exist
	Open                  // it may exist: the orchestrator or a missing file decides
	Found
)

// EntityKind decides which steps can follow an entity.
type EntityKind uint8

// The kinds of entities.
const (
	OtherEntity EntityKind = iota // such as a group or policy
	NodeEntity
	RelationshipEntity
	CapabilityEntity
)

// Member is a kind of members.
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
	Name  string // the requirement of ToRelationship, or the capability of ToCapability; "" at a relationship
	Index int    // of ToRelationship: one of several, or All
}

// All selects every index.
const All = -1

// StepKind is the kind of a step.
type StepKind uint8

// The kinds of steps. A node has ToRelationship, ToCapability, and ToHost, its host. A
// relationship has ToSource, ToTarget, and ToCapability without a name. A capability has
// ToRelationship without a name.
const (
	ToRelationship StepKind = iota
	ToCapability
	ToSource
	ToTarget
	ToHost
)

// Value is a value with its definition and state.
type Value struct {
	Node  *source.Node // nil or null if there is no value
	Def   *Definition  // nil if unknown
	Size  int          // values in it; 0 if not counted
	Input string       // the topology input whose whole value it is
	OK    bool         // false if invalid (already reported)
	Busy  bool         // under evaluation; a lookup then finds a cycle
	// Later is the function whose result is known at run time only. The value then holds
	// nodes of the kind Later.
	Later    *source.Node
	LaterDef *Definition // the definition of Later's result
}

// Known returns a value without functions.
func Known(n *source.Node) Value { return Value{Node: n, Size: 1, OK: true} }

// runTime returns a run-time value of a definition; fn is the function that it comes
// from.
func (e *Evaluator) runTime(fn *source.Node, d *Definition) Value {
	plain := ""
	if d != nil {
		plain = e.Plain(d)
	}
	return Value{Node: source.Scalar(source.Later, plain, fn), Def: d, Size: 1, OK: true, Later: fn, LaterDef: d}
}

// Anything is an unknown entity, such as SELF within a type.
var Anything Entity = anything{}

type anything struct{}

func (anything) Describe() (EntityKind, string)         { return OtherEntity, "SELF" }
func (anything) Follow(Step) (Entity, Answer)           { return nil, Open }
func (anything) Get(Member, ...string) (Value, Answer)  { return Value{}, Open }
func (anything) Names(Member, ...string) (all []string) { return nil }

// Limits for the results of functions. Nested concats can double a string at each step.
const (
	MaxText   = 128 << 10 // bytes of a string: an environment variable holds no more (execve(2), MAX_ARG_STRLEN)
	maxValues = 1 << 18   // values in a list or map, with nested ones
	maxNested = 2000      // nested functions
	maxChain  = 100       // ancestors of a type
)

// Marker encloses the reference to an artifact whose path in the container is unknown
// before packaging. Documents cannot contain the character.
const Marker = "\uFFFE"

// Evaluator evaluates and checks values. It is not safe for concurrent use.
type Evaluator struct {
	*diag.Collector
	World World // nil without a topology, as in a file of types
	// Spend counts work. It returns false, and reports that itself, if the limit is
	// exceeded.
	Spend func(int) bool

	types    map[*grammar.Type]*Type
	plain    map[builtinName]*Type
	patterns map[string]pattern
	refused  map[*source.Node]bool // validation clauses already reported
	nested   int                   // depth of nested functions
	invalid  map[*source.Node]bool // wrong defaults and fixed values (already reported)
	quiet    int                   // nothing is reported while it is above 0
	failed   int                   // errors not reported because of quiet
}

// builtinName is the name of a built-in type in a version family.
type builtinName struct {
	name   string
	second bool
}

type pattern struct {
	*regexp.Regexp
	err error
}

// Mute returns an evaluator that reports no diagnostics.
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

// wrong returns the number of errors, reported or not.
func (e *Evaluator) wrong() int { return e.Errors() + e.failed }

func (e *Evaluator) spend(n int) bool { return e.Spend == nil || e.Spend(n) }

func quote(s string) string { return diag.Quote(s) }

// Settled reports whether a value is completely known before run time.
func Settled(n *source.Node) bool { return !hasLater(n) }

// hasLater reports whether a part of a value is known at run time only, as a string with
// the path of an artifact is.
func hasLater(n *source.Node) bool {
	if n == nil {
		return false
	}
	if n.IsScalar() {
		return n.Kind == source.Later || (n.Kind == source.String && strings.Contains(n.Text, Marker))
	}
	return slices.ContainsFunc(n.Items, hasLater)
}
