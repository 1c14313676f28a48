// Package located decodes YAML documents strictly, and reports all of their problems at once, each with its line and column. It starts no
// goroutine.
package located

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toskose/toskose/internal/suggest"
)

// Problem is a problem of a document.
type Problem struct {
	File         string
	Line, Column int // counted from 1; 0: no position
	Message      string
}

// Error returns the problem as `file:line:column: message`.
func (p Problem) Error() string {
	if p.Line == 0 {
		return p.File + ": " + p.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
}

// Problems lists the problems of a document.
type Problems []Problem

// Error returns one problem per line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Sorted sorts the problems by their positions, and returns them.
func (ps Problems) Sorted() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return ps
}

// Keys returns the keys of a map in their order.
func Keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// DidYouMean returns a suggestion to append to a message, or "".
func DidYouMean(word string, known []string) string {
	if best := suggest.Nearest(word, known); best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return ""
}
