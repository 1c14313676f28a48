// Package events delivers events to event listeners (Supervisor manual, "Events").
//
// An [Event] has a type and a payload. [Hub.Emit] numbers it and offers it to every [Pool] that
// subscribed to its type or a supertype. A pool is an [eventlistener:x] section: it buffers the
// newest events, up to buffer_size, until one of its listeners has accepted them. A [Listener] is
// one run of a process of the pool. The protocol with it is the pure state machine [Conversation].
//
// Emit never waits for a listener. The package deliberately differs from Supervisor 4.2.5: a
// rejected event returns to the pool of the listener that rejected it, not to all pools with the
// same priority; len counts bytes, not characters; and log data is passed on unchanged, even if it
// is not UTF-8.
//
// A rejected event is delivered again after an increasing delay. A pool with a Relay accepts every
// result and passes it on. The package has no permanent goroutine: timers run only to end such
// delays, and [Hub.Tick] runs in its caller's goroutine.
package events
