//go:build !race

package main_test

// buildMode makes the unit that the tests run as it is shipped.
var buildMode = struct{ flag, cgo string }{"-race=false", "CGO_ENABLED=0"}
