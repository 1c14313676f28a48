// Package ready determines when a started program is ready: its port accepts connections, its URL
// answers, a command succeeds, a line appears in its output, or it sends a notification
// (sd_notify(3)).
//
// [Await] runs one goroutine for each check and returns when all of them have ended; polling stops
// then. Line and Notify do not poll: output is passed through a Line's tap, and Notify blocks in a
// read. A [Notify] has a goroutine from [Listen] to Close.
package ready
