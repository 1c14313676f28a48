// Package ready tells when a program that was started can be used: its port
// accepts, its address answers, a command succeeds, its output has a line, or
// it says so itself (sd_notify(3)).
//
// [Await] has one goroutine for each check and returns when all of them have;
// what asks by interval does so only until then. Line and Notify ask nothing:
// the one is told of output by whoever writes it, the other one sleeps in a
// read. A [Notify] has a goroutine of its own from [Listen] to Close.
package ready
