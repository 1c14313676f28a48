// Package logs stores the output of processes in files that rotate by Supervisor's rules
// (Supervisor manual, "Child Process Logging"), and reads them from an offset, from the end, or as
// they grow. Bytes are not changed.
//
// A log file never blocks or ends the process that prints. Data that cannot be written, because of
// a full disk or a read-only folder, is counted as dropped, and the next write retries.
//
// The reader of the container's own output may stop reading. A writer never waits for it: up to 1
// MiB per stream of a program is spooled; then the stream's pipe is not read, and the process
// blocks as it would with a direct reader. Other programs, log files and the unit's own log are not
// affected. See Spool.
//
// Output of a program that prints line by line is read in batches: under load, lines accumulate in
// its pipe for some milliseconds. See pacer.
//
// Output can be copied to the container's own output, line by line, with a prefix or as JSON: see
// Console and Style.
//
// A reader that reconnects continues at a cursor: see File.After. A Merger reads several logs as
// one, in the order of writing; for that a log may have an index of times beside it, see
// Options.Now.
//
// The package has one goroutine for each Pump, and one for each stream of the container's output
// that has queued data. A pump's goroutine ends when the pump is closed or the last writer closes
// the pipe, which a daemonised process may do long after its parent has ended.
package logs
