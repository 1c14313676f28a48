// Package mirror keeps what the units of an application say. One goroutine a
// replica follows its unit's journal, one a node looks for replicas, or whether a
// standalone container runs. Whoever reads gets a snapshot, which nothing
// changes and nobody is asked for: reading holds up no follower. What a unit that
// cannot be reached said last stays, with when it was heard.
//
// All goroutines end with Close.
package mirror
