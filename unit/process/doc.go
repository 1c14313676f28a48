// Package process runs the programs of one container through their life cycle: the main process,
// its descendants, readiness and output. It does not depend on components or clients.
//
// # Goroutines
//
// A Table holds what programs share. It reaps every child of the unit in the goroutine that calls
// Reap.
//
// The goroutine that calls Program.Serve owns the program. Only this goroutine steps the state
// machine (the pure function next), starts processes and signals them. It receives commands over a
// channel; every send selects on the caller's context and on the end of the program.
//
// A program has up to three more kinds of goroutines: one waits for the descendants of an exited
// main process; one, plus one per check, waits for readiness; and one writes events to an event
// listener, so that a listener that does not read blocks no one else. All of them have ended when
// Serve returns. Other goroutines read the program's Status, which is published under a lock.
package process
