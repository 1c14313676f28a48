// Package differential contains only a test: it replays one corpus of configurations
// and calls against the real supervisord and against toskose-unit, and compares every
// response.
//
// The corpus is testdata/corpus/*.txtar. The comment of an archive states its
// subject. Both servers read its supervisord.conf, in which DIR, PORT and SOCKET are
// replaced; unless it has a [supervisord] section, a preamble with the server is
// prepended. `steps` has the steps, and the other files are placed beside the
// configuration. A step is a line; the lines below it that are indented by two
// spaces belong to it:
//
//	call METHOD [ARGS]       an XML-RPC call; ARGS are JSON
//	shape METHOD [ARGS]      the same, but only the types in the result are compared
//	unordered METHOD [ARGS]  the same, with the elements of the result sorted
//	wait NAME STATE...       until a process is in one of the states
//	executed NAME            until a process executes its command
//	until FILE TEXT          until a file contains a text, which may be in "quotes"
//	printed TEXT             until the server's own output contains a text
//	file FILE                the content of a file, once it ends in a newline
//	alive FILE               whether the process whose id is in a file stays alive
//	http TITLE               the lines below it as an HTTP request
//	silent TITLE             the same, if one of the two never responds
//	tail PATH [until TEXT]   the beginning of an endless response, up to a text
//	ctl ARGS                 supervisorctl; the lines below are its input
//	ctl-unordered ARGS       the same, with the lines sorted
//	ctl-until "TEXT" ARGS    ctl, interrupted as soon as it printed a text:
//	                         its first line and that text
//	daemon SIGNAL            a signal to the server itself
//	again FILE               until a file with a process id contains another one than
//	                         at the last reading
//	touch FILE               create an empty file
//	copy FILE FILE           replace the second file by a copy of the first
//	remove FILE              remove a file
//	ended                    until the server has ended, and its exit code
//
// An archive whose files are all named `conf: TITLE` has no steps: both servers load
// each file, and the resulting configurations are compared.
//
// An archive whose name begins with image- has a configuration like those in public
// images, rewritten with harmless commands. Its comment names the source, and no two
// of them have the same keys.
//
// Steps must not depend on timing. They wait for whatever the server does
// asynchronously; a program that must not have ended yet waits for a file, and one
// that must fail to start has a startsecs of minutes. A shell with a trap waits in a
// loop of short sleeps, since it handles a signal that arrives just before a read only
// after the next line. If two processes end at the same time, their order is
// arbitrary even in supervisord; such steps are unordered.
//
// Only process ids, times, paths and ports are normalised. Intended differences are in
// testdata/differences.txt with both responses and a reason. A difference that is
// missing there, or that does not occur, fails the test. `go test -update` rewrites
// the responses in that file and adds new differences with an empty reason, which fails
// until it is filled in; `go test -v -only NAME` runs the scenarios whose names begin
// with NAME.
package differential
