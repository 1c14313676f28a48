// Package history is what was executed, by whom, where and with what result, as the
// units' journals have it: what the mirror remembers of them, and where that is not
// enough the journals themselves. So it outlives managers, and reaches back as far
// as the journals of containers that are there.
package history
