// Package rpc is the HTTP server of a unit: Supervisor's XML-RPC under /RPC2, to
// the letter, and beside it, as JSON, what Supervisor lacks: executions,
// components, the journal. docs/unit-api.md has the fields and statuses.
//
//	POST /RPC2…                              XML-RPC, see the table in methods.go
//	GET  /logtail/NAMESPEC[/stdout|/stderr]  a process' log, followed for ever
//	GET  /mainlogtail                        the unit's own log, followed for ever
//	GET  /log/NAMESPEC/{stdout,stderr}?after=CURSOR&wait=30s
//	GET  /mainlog?after=CURSOR&wait=30s      a piece of a log, to go on after a gap
//	POST /logs                               several logs as one, in order, followed
//	POST /executions                         begins an operation, once for each id
//	GET  /executions/ID?wait=30s             its end, with the end of its output
//	DELETE /executions/ID                    cancels it
//	GET  /components?processes=true          where the components stand
//	GET  /instance                           whose journal it is, and how far
//	GET  /metrics                            OpenMetrics text
//	GET  /journal?after=CURSOR&wait=30s      journal entries as JSON lines
//	GET  /healthz                            open; {"status":"ok"}
//	GET  /readyz                             open; {"status":"ready"}: whether clients should be led here
//
// [New] makes the handler and [Serve] runs it, which owns the goroutines of its
// connections and closes them before it returns; nothing else here starts one.
// What a client sends never makes an answer of status 500: that means a
// mistake in the unit, is logged, and takes nothing down.
//
// Without TLS files all of it is plain HTTP; see [NewTLS].
//
// # Logs after a gap
//
// /log and /mainlog answer with bytes as they were logged, at most 1 MiB, and
// with Toskose-Cursor, the place after them: whoever asks again with
// after=CURSOR gets what follows, nothing twice and nothing left out, through
// rotations, and however long that takes. An answer that broke off, shorter than
// its Content-Length, counts as not received. Without after they begin at the
// oldest byte that is kept; after=end answers at once with the cursor of the
// end. Where there is nothing yet they wait, for `wait` and at most a minute,
// and then answer without a byte. Toskose-Gap: true says that something before
// this answer is missing, or that nobody knows: the reader came too late, the
// log was cleared, or the unit has been restarted since, and the answer begins
// at the oldest byte again. A cursor is LIFE.GEN.OFFSET: the run of the unit, how
// often the log got another file, and the bytes of that before it.
//
// # Several logs as one
//
// POST /logs takes a wire.LogsRequest and answers with chunks, each a line of JSON,
// wire.LogChunk, and the bytes that it counts: of all logs in the order in which they were
// written, and of each in its own. Times are of an index that the unit keeps beside
// the logs of operations; they are exact to 10 ms. A chunk without bytes says
// where a log begins of which something was left out as asked, or, with a gap, what
// is missing. A line with live, sent once all is read that was there and, when nothing
// was written for two seconds and then every 10 s, with quiet, is of no log. With follow the answer ends when the client hangs up, or when the
// configuration is read again: the client asks again with its cursors. Such a
// connection counts as one that follows a log. A client that does not read costs no
// memory: its logs are read no faster than it reads.
//
// # XML-RPC
//
// Accepted are int, i4, i8, boolean, string, double, dateTime.iso8601, base64,
// array, struct, and a value without a type, which is a string. Any integer may
// use all 64 bits. A document type, and with it any entity beyond XML's five,
// is refused, as is what exceeds [Limits]. A request that is no XML-RPC is
// answered by status 400, any other by status 200, faults too.
//
// Answers use <int> for what fits 32 bits and <i8> beyond, never <nil/>, and
// always parse: XML 1.0 cannot carry every character and must be UTF-8, while
// logs hold anything. So in each string and member name a byte that is not part
// of valid UTF-8, and a character that XML lacks (U+FFFE, U+FFFF), becomes
// U+FFFD; a control character that XML lacks becomes its picture in
// U+2400–U+241F (ESC is ␛, NUL is ␀). Tab, newline and carriage return arrive
// as they are. Lengths and offsets of log methods always count the bytes of the
// file.
//
// Structs of unit/wire travel as XML-RPC structs under their JSON names.
package rpc
