package diag

import (
	"fmt"
	"slices"

	"github.com/toskose/toskose/internal/suggest"
)

// The bounds of suggestions, each of which costs a comparison with all
// candidates: how many names they are looked for, and how many candidates are
// compared in all.
const (
	maxSuggested = 200
	maxCompared  = 4 << 20
)

// Collector gathers diagnostics. Its zero value is ready for use.
type Collector struct {
	list      List
	suggested int // names that suggestions were looked for
	compared  int // with them
	errors    int
}

// Add takes diagnostics as they are.
func (c *Collector) Add(more ...Diagnostic) {
	for _, d := range more {
		if d.Severity == Error {
			c.errors++
		}
	}
	c.list = append(c.list, more...)
}

// Errorf adds an error.
func (c *Collector) Errorf(at Position, code, format string, args ...any) {
	c.Add(Diagnostic{Position: at, Code: code, Message: fmt.Sprintf(format, args...)})
}

// Warnf adds a warning.
func (c *Collector) Warnf(at Position, code, format string, args ...any) {
	c.Add(Diagnostic{Position: at, Code: code, Severity: Warning, Message: fmt.Sprintf(format, args...)})
}

// Suggesting reports whether Unknown still looks for suggestions, so that nobody
// gathers candidates in vain.
func (c *Collector) Suggesting() bool { return c.suggested < maxSuggested && c.compared < maxCompared }

// Nearest is suggest.Nearest as long as there are suggestions, and counts for their bounds.
func (c *Collector) Nearest(name string, candidates []string) string {
	if !c.Suggesting() {
		return ""
	}
	c.suggested++
	c.compared += len(candidates)
	return suggest.Nearest(name, candidates)
}

// Unknown adds an error about a name that none of the candidates has, and
// suggests the nearest; a single candidate is suggested in any case, since
// nothing else can have been meant. It returns the nearest, or an empty string.
func (c *Collector) Unknown(at Position, code, name string, candidates []string, format string, args ...any) string {
	d := Diagnostic{Position: at, Code: code, Message: fmt.Sprintf(format, args...)}
	nearest := ""
	if c.Suggesting() {
		nearest = c.Nearest(name, candidates)
		d.Suggestion = nearest
		if d.Suggestion == "" && len(candidates) == 1 && candidates[0] != name {
			d.Suggestion = candidates[0]
		}
	}
	c.Add(d)
	return nearest
}

// Perhaps adds a warning about a name that none of the candidates has and that may
// be known elsewhere, where one of them is near: of others was said that what they may
// be in is not at hand.
func (c *Collector) Perhaps(at Position, code, name string, candidates []string, format string, args ...any) {
	d := Diagnostic{Position: at, Code: code, Severity: Warning, Message: fmt.Sprintf(format, args...)}
	if d.Suggestion = c.Nearest(name, candidates); d.Suggestion != "" {
		c.Add(d)
	}
}

// Suggested reports whether a name was suggested in the place of an unknown one, with
// one of the codes.
func (c *Collector) Suggested(name string, codes ...string) bool {
	return slices.ContainsFunc(c.list, func(d Diagnostic) bool {
		return d.Suggestion == name && slices.Contains(codes, d.Code)
	})
}

// Demote makes warnings of the errors at some places.
func (c *Collector) Demote(at func(Position) bool) {
	for i, d := range c.list {
		if d.Severity == Error && at(d.Position) {
			c.list[i].Severity = Warning
			c.errors--
		}
	}
}

// Errors counts the errors so far, so that a step can tell whether it failed.
func (c *Collector) Errors() int { return c.errors }

// List returns what was gathered, sorted.
func (c *Collector) List() List {
	c.list.Sort()
	return c.list
}
