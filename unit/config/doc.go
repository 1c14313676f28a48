// Package config reads a unit's configuration, a supervisord.conf, and reports
// all of its problems, each with its line. It starts no goroutine.
//
// In addition to Supervisor's sections and keys (Supervisor manual, "Configuration
// File"), it reads sections and keys that supervisord ignores:
//
//	[inet_http_server]
//	toskose_auth=required       refuse to start when neither the file nor the
//	                            environment gives a password
//	toskose_tls_cert=/tls/tls.crt
//	toskose_tls_key=/tls/tls.key
//	                            PEM files: accept only TLS (1.2 or newer);
//	                            changed files are reloaded
//	toskose_tls_client_ca=/tls/ca.crt
//	                            clients need a certificate signed by one of
//	                            these, in addition to the password
//
//	[program:COMPONENT.OPERATION]
//	toskose_component=api       the component; also the program's group
//	toskose_interface=Standard  the interface of its operation, whose bare name
//	                            is the process name
//	toskose_operation=run       run, start or stop: how success is judged
//	toskose_inputs={"PORT":"80"}
//	                            JSON: the INPUT_ variables it declares, without
//	                            that prefix, with their values
//	toskose_secret_inputs={"TOKEN":"/run/secrets/token"}
//	                            the same, with files to read when it starts
//	toskose_secret_environment={"DB_PASSWORD":"/run/secrets/db"}
//	                            variables of other names, with files to read
//	                            when it starts; a caller cannot override them
//	toskose_timeout=300         seconds a run may take; 0, the default: any time
//
//	[program:x]                 also of an ordinary program
//	toskose_essential=true      when it exits and is not restarted, or cannot be
//	                            started, the unit stops all other programs and
//	                            exits with its exit code, or 128+n for signal n;
//	                            with 1 if that would be 0 although it failed, or
//	                            if it never became ready
//	toskose_ready_tcp=8080      a port, or HOST:PORT, that accepts
//	toskose_ready_http=http://127.0.0.1:8080/health
//	                            an address that answers with 200 to 399;
//	                            no redirect is followed
//	toskose_ready_command=/check --all
//	                            a command that exits with 0, run as the program is
//	toskose_ready_log=listening on port \d+
//	                            a regular expression (RE2) that is found in a
//	                            finished line of its stdout or stderr
//	toskose_ready_notify=true   it sends READY=1 to NOTIFY_SOCKET (sd_notify)
//	toskose_ready_timeout=60    seconds from its start; default 60
//	toskose_ready_interval=0.2  seconds between attempts of tcp, http and
//	                            command; default 0.2
//
//	toskose_live_http=http://127.0.0.1:8080/health
//	                            while it is RUNNING, an address that answers;
//	                            also toskose_live_tcp=8080 and
//	                            toskose_live_command=/check --all
//	toskose_live_status=200-299 the status of the answer; default 200-399
//	toskose_live_text=ok        text in the answer
//	toskose_live_interval=10    seconds between two checks
//	toskose_live_timeout=3      seconds of one check
//	toskose_live_failures=3     consecutive failures after which it is not live
//	toskose_live_grace=0        seconds without checks after it is RUNNING
//	toskose_live_then=restart   restart, report or exit
//
//	[toskose:component:api]
//	toskose_protocol={"initial":"off",
//	  "states":[{"name":"off"},{"name":"on"}],
//	  "transitions":[{"source":"off","target":"on",
//	    "interface":"Standard","operation":"start"}],
//	  "fault_handlers":[{"source":"on","target":"off"}]}
//	                            JSON: a protocol.Protocol; the requirements and
//	                            capabilities in it are for planners
//
//	[supervisord]
//	toskose_journal=/state/journal
//	                            the folder of the journal; without it the
//	                            journal lives in memory
//	toskose_documents=/toskose/documents
//	                            the folder of the documents that the unit
//	                            keeps for the manager, shared by replicas
//	toskose_job={"task":{"component":"migrate","operation":"Task.run"},
//	  "input":"TASK_INDEX","completions":3}
//	                            JSON: a Job, which the unit runs when it starts;
//	                            the container exits when it ends
//	toskose_coredump_mark=true  whether processes are also marked in their
//	                            /proc/PID/coredump_filter
//	toskose_output=none         whether the output of programs is copied to the
//	                            container's own output: none, prefixed
//	                            (`api:create | LINE`) or json (unit/logs has
//	                            the format); a [program:x] may have its own
//
// In JSON, as elsewhere, a percent sign is written as %%, and a `;` or `#` after white
// space begins a comment: write it \u003b or \u0023 (in a regular expression
// \x3b or \x23). A program of a component is in the group of that name, with
// or without a [group:x]. A component without a [toskose:component:x]
// section has no protocol: its states are unknown, and all of its operations
// are allowed.
//
// The folder of the file may contain a container.json, a spec.Container, which packaged
// images use instead of toskose_protocol, toskose_files, toskose_inputs,
// toskose_secret_inputs, toskose_secret_environment and toskose_job. Nothing in it is
// expanded. An operation or component is described in one of the two files, not in both.
//
// An [eventlistener:x] cannot be an operation. Its result_handler is a Python
// function and is not loaded: the rules of Supervisor's default are built in. With
// any other, a result accepts the event, and is copied to the container's output.
//
// Toskose's own keys and sections are checked strictly. Text that Supervisor ignores is a
// warning. Some text that Supervisor accepts, but that is certainly a mistake, is an error
// here: %s without a name (it inserts the entire environment), quotes in the name of a
// variable, two processes with the same name.
//
// A program with one or more toskose_ready_ checks stays STARTING until all of
// them have passed and startsecs have, too; with startsecs=0 it is running as
// soon as it is ready. If it exits earlier, with any exit code,
// the start has failed. The start also fails if the program is not ready in time: the unit
// stops the program, which is then in BACKOFF or FATAL. An operation of kind start fails
// likewise, and its reason names the check that did not pass. If its command exits with 0,
// the checks apply to the processes that it left running; if none is left before the
// checks pass, the operation fails.
//
// The unit reloads its configuration on request (supervisor.reloadConfig). The
// documentation of package unit lists the keys whose change restarts a program.
//
// The process of an operation is named `COMPONENT:OPERATION`, or, if two
// interfaces of the component have that operation, `COMPONENT:INTERFACE.OPERATION`;
// the latter form always works.
package config
