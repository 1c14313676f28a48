// Package history lists past executions with their users, replicas and outcomes. It uses the executions in the
// mirror's memory and, for older ones, the units' journals. The history therefore outlives managers, and reaches
// back as far as the journals of the current containers.
package history
