//go:build race

package differential

// buildMode makes the unit that is compared as strict as the test is. The race
// detector needs cgo.
var buildMode = struct{ flag, cgo string }{"-race=true", "CGO_ENABLED=1"}
