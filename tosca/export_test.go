package tosca

import (
	"maps"
	"slices"
)

// Codes returns all codes, sorted.
func Codes() []string { return slices.Sorted(maps.Keys(titles)) }
