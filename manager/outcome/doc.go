// Package outcome is how requests end: executions with their runs, results at
// replicas, and errors by their kind.
package outcome
