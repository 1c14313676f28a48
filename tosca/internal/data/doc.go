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
