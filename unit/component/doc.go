// Package component manages the components of one container: their states by their management
// protocols, and the executions of their operations. It runs operations with the programs of
// unit/process, and writes every event to the journal before any client learns of it.
//
// # Goroutines
//
// Each execution has a goroutine (Set.runExecution), and each start whose processes live has
// another (Set.watchDescendants); Set.Close waits for both. The ledger owns the states behind one
// lock. It first writes a journal entry and then applies it with the pure function fold. The lock
// is never held while waiting for a program.
package component
