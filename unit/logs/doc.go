// Package logs keeps what processes print: in files that rotate by
// Supervisor's rules (Supervisor manual, "Child Process Logging"), read from an
// offset, from the end, or as they grow. Bytes stay as they are.
//
// Nothing in it blocks or ends the process that prints. What a full disk or an
// unwritable folder does not take is counted as dropped, and the next write
// tries again; a container's output whose reader has stopped is waited for
// once, for a second, and not again until it takes something.
//
// A copy of it can go to the container's own output, line by line, with a
// prefix or as JSON: see Console and Style.
//
// A reader who comes back after a gap goes on with a cursor: see File.After.
//
// The only goroutines are those of pumps, one for each pipe, and two of a
// Console. A pump's ends when the last writer has closed the pipe, which a
// daemonised process may do long after its parent has ended, or when the pump
// is closed.
package logs
