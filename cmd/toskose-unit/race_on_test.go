//go:build race

package main_test

// buildMode makes the unit that the tests run as strict as the tests are. The
// race detector needs cgo.
var buildMode = struct{ flag, cgo string }{"-race=true", "CGO_ENABLED=1"}
