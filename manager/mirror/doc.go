// Package mirror keeps the state that the units of an application report. One goroutine per replica follows its
// unit's journal; one per node looks for replicas, or checks whether a standalone container is running. Callers
// read an immutable snapshot without sending requests, so reading delays no follower. The last state of an
// unreachable unit is kept, with the time when it was last seen.
//
// All goroutines end with Close.
package mirror
