// Package logs stores the output of processes in files that rotate by
// Supervisor's rules (Supervisor manual, "Child Process Logging"), and reads
// them from an offset, from the end, or as they grow. Bytes are not changed.
//
// A log file never blocks or ends the process that prints. What cannot be written
// to a full disk or a read-only folder is counted as dropped, and the next write
// tries again.
//
// The container's own output may have a reader that stops. A writer never waits for it: 1 MiB of
// each stream of a program is spooled; then the stream's pipe is not read, and
// the process waits as it would with that reader at the other end. Other programs, log files and
// the unit's own log go on. See Spool.
//
// A program that prints line by line is not read line by line: while it goes on, lines
// gather in its pipe for some milliseconds. See pace.
//
// Output can be copied to the container's own output, line by line, with a
// prefix or as JSON: see Console and Style.
//
// A reader that reconnects continues at a cursor: see File.After. Several logs are
// read as one, in the order in which they were written, by a Merger; for that a log may
// have an index of times beside it, see Options.Now.
//
// The only goroutines are one for each Pump, and one for each stream of the
// container's output while something waits for its reader. A pump's ends
// when the last writer has closed the pipe, which a daemonised process may do
// long after its parent has ended, or when the pump is closed.
package logs
