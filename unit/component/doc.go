// Package component keeps the components of one container: where each stands by
// its management protocol, what was done to it, and what is being done. It runs
// operations by the programs that unit/process has, and writes everything that
// happens into the journal before anyone is told.
//
// # Who owns what
//
// One goroutine carries each execution (Set.carry), and one watches what each
// start has left (Set.watch); Set.Close waits for them. Where the components
// stand is owned by the ledger, behind one lock: it writes the journal entry
// first and changes what it holds after, by the pure function fold. The lock is
// never held while a program is waited for.
package component
