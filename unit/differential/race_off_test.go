//go:build !race

package differential

// buildMode is how the unit that is compared is built.
var buildMode = struct{ flag, cgo string }{"-race=false", "CGO_ENABLED=0"}
