// Package differential holds no code, only a test: it replays one corpus of
// configurations and calls against the real supervisord and against
// toskose-unit, and compares every answer.
//
// The corpus is testdata/corpus/*.txtar. The comment of an archive says what it
// is about, supervisord.conf is what both servers read (DIR, PORT and SOCKET are
// replaced, and a preamble with the server is put before it unless it has a
// [supervisord] of its own), `steps` is what is done, and the other files lie
// beside the configuration. A step is a line; lines below it that are indented
// by two spaces belong to it:
//
//	call METHOD [ARGS]       an XML-RPC call; ARGS are JSON
//	shape METHOD [ARGS]      the same, but only the types of the answer count
//	unordered METHOD [ARGS]  the same, with the elements of the answer sorted
//	wait NAME STATE...       until a process is in one of the states
//	executed NAME            until a process runs its command
//	until FILE TEXT          until a file holds a text, which may be in "quotes"
//	printed TEXT             until the server's own output holds a text
//	file FILE                what a file holds, once it ends in a newline
//	alive FILE               whether the process whose id a file holds stays
//	http TITLE               the lines below it as an HTTP request
//	silent TITLE             the same, where one of the two never answers
//	tail PATH [until TEXT]   what an endless answer sends until a text is there
//	ctl ARGS                 supervisorctl; the lines below are typed into it
//	ctl-unordered ARGS       the same, with the lines sorted
//	ctl-until "TEXT" ARGS    ctl, interrupted as soon as it printed a text:
//	                         its first line and that text
//	daemon SIGNAL            a signal to the server itself
//	again FILE               until a file with a process id holds another than
//	                         when it was read last
//	touch FILE               make an empty file
//	copy FILE FILE           put the first in the place of the second
//	remove FILE              remove it
//	ended                    until the server has ended, and its exit code
//
// An archive whose files are all named `conf: TITLE` has no steps: each of them
// is loaded by both, and what both make of it is compared.
//
// An archive whose name begins with image- is of a configuration that public
// images use: written anew with harmless commands, with where it was seen in its
// comment, and no two with the same keys.
//
// Nothing may depend on how fast anything is: what the server does by itself is
// waited for, a program that must not have ended yet waits for a file, and one
// that must fail to start has a startsecs of minutes. A shell with a trap waits in
// a loop of short sleeps: it would hear a signal just before it reads only after
// the next line. Where two processes end at once, supervisord itself leaves their
// order to chance; such steps are unordered.
//
// Process ids, times, paths and ports are normalised, nothing else is. What
// differs on purpose is in testdata/differences.txt with both answers and a
// reason; a difference that is not there, and one that is there but does not
// occur, fails the test. `go test -update` rewrites the answers in that file and
// puts new differences under an empty reason, which fails until it is written;
// `go test -v -only NAME` plays the scenarios whose names begin so.
package differential
