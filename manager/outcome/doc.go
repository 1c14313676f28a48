// Package outcome defines the results of requests: executions with their runs, results of replicas, and errors by
// kind.
package outcome
