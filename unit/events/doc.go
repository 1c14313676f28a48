// Package events delivers events to event listeners (Supervisor manual,
// "Events").
//
// An [Event] has a type and a payload. [Hub.Emit] numbers it and offers it to
// every [Pool] that subscribed to its type or to one above it. A pool is an
// [eventlistener:x] section: it keeps the newest events, as many as buffer_size
// says, until one of its listeners has accepted them. A [Listener] is one run of
// a process of the pool. The protocol with it is the pure state machine
// [Conversation].
//
// Nothing here waits for a listener: Emit returns at once, whatever the listeners
// do. The package differs from Supervisor 4.2.5 where that is wrong: a rejected
// event goes back to the pool of the listener that rejected it, not to all of
// the same priority; len counts bytes, not characters; and log data is passed on
// unchanged, whether or not it is UTF-8.
//
// A rejected event pauses before it is delivered again, ever longer, and what a pool
// with a Relay gets as a result is accepted and passed on. The package starts no
// goroutine but for a moment, by a timer, when such a pause is over. [Hub.Tick]
// runs in its caller's.
package events
