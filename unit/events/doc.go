// Package events tells listeners what happens (Supervisor manual, "Events").
//
// An [Event] has a type and a payload. [Hub.Emit] numbers it and offers it to
// every [Pool] that subscribed to its type or to one above it. A pool is an
// [eventlistener:x] section: it keeps the newest events, as many as buffer_size
// says, until one of its listeners has accepted them. A [Listener] is one run of
// a process of the pool; what it may say, and what that means, is the pure state
// machine [Conversation].
//
// Nothing here waits for a listener: Emit returns at once, whatever the listeners
// do. Where Supervisor 4.2.5 is wrong this package is right: an event that was
// rejected goes back to the pool of the listener that rejected it, not to all of
// the same priority; len counts bytes, not characters; and log data is passed on
// as it is, whether or not it is UTF-8.
//
// The package starts no goroutine. [Hub.Tick] runs in its caller's.
package events
