// Package rpc is the HTTP server of a unit: Supervisor's XML-RPC under /RPC2, and a JSON API for
// executions, components and the journal. docs/unit-api.md documents fields and statuses.
//
//	POST /RPC2…                              XML-RPC, see the table in methods.go
//	GET  /logtail/NAMESPEC[/stdout|/stderr]  follows a log of a process
//	GET  /mainlogtail                        follows the unit's own log
//	GET  /log/NAMESPEC/{stdout,stderr}?after=CURSOR&wait=30s
//	GET  /mainlog?after=CURSOR&wait=30s      a piece of a log, after a cursor
//	POST /logs                               several logs as one, in order, followed
//	POST /executions                         begins an operation, once for each id
//	GET  /executions/ID?wait=30s             its result, with the end of its output
//	DELETE /executions/ID                    cancels it
//	GET  /components?processes=true          the states of the components
//	GET  /instance                           instance and length of the journal
//	GET  /metrics                            OpenMetrics text
//	GET  /journal?after=CURSOR&wait=30s      journal entries as JSON lines
//	GET  /healthz                            unauthenticated; {"status":"ok"}
//	GET  /livez                              unauthenticated; {"status":"live"} if the unit and its programs work
//	GET  /readyz                             unauthenticated; {"status":"ready"} if ready for clients
//
// [New] makes the handler and [Serve] runs it. Serve owns the goroutines of its connections and
// closes them before it returns; nothing else here starts one. No client request causes a response
// with status 500: that status means a bug in the unit, and is logged.
//
// Without TLS files the server speaks plain HTTP; see [NewTLS].
//
// # Logs after a gap
//
// /log and /mainlog return bytes as they were logged, at most 1 MiB, and in Toskose-Cursor the
// position after them. A request with after=CURSOR continues there without repetition or loss,
// across rotations and after any delay. A response shorter than its Content-Length must be
// discarded. Without after, the oldest byte kept is first; after=end returns the cursor of the end
// at once. Without new data the request waits for the duration in wait, at most a minute, and
// returns an empty body. Toskose-Gap: true means that data before this response is missing, or may
// be, because the reader was too slow, the log was cleared, or the unit was restarted; the response
// begins at the oldest byte then. A cursor is LIFE.GEN.OFFSET: the run of the unit, the number of
// the log's file, and an offset in it.
//
// # Several logs as one
//
// POST /logs takes a wire.LogsRequest and returns chunks: a line of JSON, wire.LogChunk, followed
// by its bytes. All logs are merged in the order of writing; each keeps its own order. The times
// are from an index that the unit keeps beside the logs of operations, and exact to 10 ms. A chunk
// without bytes announces the start position of a log whose beginning is omitted, or a gap. A line
// with live belongs to no log: it is sent once all existing data was sent and, with quiet, when
// nothing was written for two seconds, and every 10 s after that. With follow the response ends
// when the client hangs up, or when the configuration is read again; the client then sends another
// request with its cursors. Such a connection counts as a follower. A slow client costs no memory:
// its logs are not read faster than it reads.
//
// # XML-RPC
//
// The server accepts int, i4, i8, boolean, string, double, dateTime.iso8601, base64, array, struct,
// and a value without a type, which is a string. Integers may have 64 bits. It rejects a document
// type, and with it any entity beyond XML's five, and requests that exceed [Limits]. A malformed
// request gets status 400, any other gets status 200, including faults.
//
// Responses use <int> for 32 bits and <i8> for larger integers, never <nil/>, and are always
// well-formed: XML 1.0 cannot carry every character and must be UTF-8, while logs contain any
// bytes. So in strings and member names a byte that is not part of valid UTF-8, and a character
// that XML lacks (U+FFFE, U+FFFF), is replaced by U+FFFD; a control character that XML lacks is
// replaced by its picture in U+2400–U+241F (ESC is ␛, NUL is ␀). Tab, newline and carriage return
// are kept. Lengths and offsets of log methods always count the bytes of the file.
//
// Structs of unit/wire are XML-RPC structs with their JSON names.
package rpc
