package diag

import (
	"fmt"
	"slices"

	"github.com/toskose/toskose/internal/suggest"
)

// Limits for suggestions, as each compares a name with all candidates: the number of
// names, and the number of candidates in all.
const (
	maxSuggested = 200
	maxCompared  = 4 << 20
)

// Collector collects diagnostics. Its zero value is ready to use.
type Collector struct {
	list      List
	suggested int // names compared so far
	compared  int // candidates compared so far
	errors    int
}

// Add adds diagnostics.
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

// Suggesting reports whether Unknown still makes suggestions, so that callers need not
// list candidates in vain.
func (c *Collector) Suggesting() bool { return c.suggested < maxSuggested && c.compared < maxCompared }

// Nearest is the function Nearest within the limits for suggestions.
func (c *Collector) Nearest(name string, candidates []string) string {
	if !c.Suggesting() {
		return ""
	}
	c.suggested++
	c.compared += len(candidates)
	return suggest.Nearest(name, candidates)
}

// Unknown adds an error about an unknown name, and suggests the nearest candidate. It
// suggests a single candidate in any case. It returns the nearest, or an empty string.
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

// Perhaps adds a warning about an unknown name that a missing file may define, if a
// candidate is near. Other names are covered by the warning about the missing file.
func (c *Collector) Perhaps(at Position, code, name string, candidates []string, format string, args ...any) {
	d := Diagnostic{Position: at, Code: code, Severity: Warning, Message: fmt.Sprintf(format, args...)}
	if d.Suggestion = c.Nearest(name, candidates); d.Suggestion != "" {
		c.Add(d)
	}
}

// Suggested reports whether a name was suggested in a diagnostic with one of the codes.
func (c *Collector) Suggested(name string, codes ...string) bool {
	return slices.ContainsFunc(c.list, func(d Diagnostic) bool {
		return d.Suggestion == name && slices.Contains(codes, d.Code)
	})
}

// Demote turns errors at some positions into warnings.
func (c *Collector) Demote(at func(Position) bool) {
	for i, d := range c.list {
		if d.Severity == Error && at(d.Position) {
			c.list[i].Severity = Warning
			c.errors--
		}
	}
}

// Errors returns the number of errors so far.
func (c *Collector) Errors() int { return c.errors }

// List returns the diagnostics, sorted.
func (c *Collector) List() List {
	c.list.Sort()
	return c.list
}
