// Package ready finds out when a started program can be used: its port accepts
// connections, its URL answers, a command succeeds, a line appears in its
// output, or it says so itself (sd_notify(3)).
//
// [Await] runs one goroutine for each check and returns when all of them have;
// polling stops then. Line and Notify do not poll: output is passed through a
// Line's tap, and Notify blocks in a read. A [Notify] owns a goroutine from
// [Listen] to Close.
package ready
