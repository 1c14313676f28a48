// Package controller has the controllers of the operator: one for each level and for Application, which make the resources of
// the next lower kind, and one for Component, which makes workloads. All writes except deletions are server-side applies, so that
// repeating one changes nothing. The goroutines belong to the manager that Run starts, and end before Run returns.
package controller
