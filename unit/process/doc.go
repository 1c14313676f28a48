// Package process runs the programs of one container, each through its whole
// life: the main process, what that leaves behind, when it is ready, and what
// they print. It knows nothing of components and clients.
//
// # Who owns what
//
// A Table holds what programs share, and reaps every child of the unit in the
// one goroutine that calls Reap. The goroutine that calls Program.Serve owns a
// program: it alone steps the state machine, which is the pure function next,
// and starts and signals. Commands reach it over a channel; each send selects on
// the caller's context and on the program's end. Beside it at most one goroutine
// waits for the descendants that a main process left, one, with one per check,
// for the program's readiness until that is decided, and, for an event listener,
// one writes events to it, so that nobody else waits for a listener that does
// not read. All of them have ended when Serve returns. What others may know of a
// program is its Status, published under a lock.
package process
