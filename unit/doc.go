// Package unit supervises the processes of one container. It runs as PID 1 or as a subreaper. It
// resolves the names that clients use among the groups of a configuration, and delegates programs
// to unit/process and operations to unit/component.
//
// # Structure
//
// New makes a Unit from a configuration and records the boot. Run supervises until a signal or
// Shutdown ends it, or returns ErrRestart. The other methods, which unit/rpc serves, are safe for
// concurrent use. Their parameters match the wire; an error to be reported to the client has
// a *wire.Fault in its chain.
//
//   - Processes, Groups and Logs have Supervisor's methods for processes. StartProcess, StopProcess
//     and SignalProcess return nil for one process (Supervisor's true), and statuses for `group:*`.
//   - component.Operations and Reports have the methods of the JSON API. Healthy serves /healthz,
//     Ready serves /readyz, and Live serves /livez.
//   - SendRemoteCommEvent and other events reach the configured event listeners through package
//     unit/events.
//
// # Reloading
//
// ReloadConfig reads the files again and returns the groups that differ from those in use;
// AddProcessGroup and RemoveProcessGroup put the differences in use. A configuration with any
// problem changes nothing (fault CANT_REREAD).
//
// Some settings require no restart. ReloadConfig applies them at once, also to running processes,
// and does not report the group as changed: priority (of programs and groups), autostart,
// autorestart, exitcodes, startsecs, startretries, stopsignal, stopwaitsecs, stopasgroup,
// killasgroup, *_logfile_maxbytes, *_logfile_backups, toskose_inputs, toskose_secret_inputs,
// toskose_secret_environment, toskose_timeout, toskose_after, toskose_requires, and the section of
// a process. A start or stop in progress keeps its times. Every other key of a program requires a
// restart of the program, as do [supervisord]'s environment and an event listener's events,
// buffer_size and result_handler. The rest of [supervisord] and the servers require a restart of
// the unit, which is logged.
//
// Differences from Supervisor, and the reasons:
//
//   - In Supervisor each of the keys above is a change of the group, so update stops a service to
//     change the size of its log.
//   - A group in use that can keep some of its processes is reported as added, not changed.
//     AddProcessGroup then stops and replaces only what changed. supervisorctl's update stops all of
//     a changed group, and StopProcessGroup cannot tell that it is called by update. supervisorctl's
//     messages are "available" and "added process group". For a group that cannot keep any process
//     AddProcessGroup returns ALREADY_ADDED, as in Supervisor.
//   - AllConfigInfo reports for each process whether it is in use, not for its group.
//
// A replaced process starts like at the start of the unit, according to autostart. Processes that a
// program left behind still belong to its name, even if the program is removed, added again, or
// gets another command.
//
// A component is reloaded with the group of its name, protocol and programs together; a component
// without programs is a group without processes. It keeps its state, even while it is not
// configured. A protocol without that state is rejected: by ReloadConfig with CANT_REREAD, and, if
// the state has changed since, by AddProcessGroup with FAILED. Only a component without journal
// entries changes, to the new initial state. No part of a component is replaced while one of its
// operations executes (STILL_RUNNING).
//
// # Order
//
// Processes to be started or stopped form a sequence: each is started or stopped as soon as nothing
// blocks it; priority decides among equals. A process with toskose_after is blocked by the
// processes it names, if they are started together with it, until they are RUNNING or, if they are
// one-shot, have succeeded. The processes in toskose_requires are also started with it, and
// stopping one of them stops it. A start by a client fails when a process that it waits for has
// failed; an automatic start keeps waiting, and its status says for what.
//
// # Goroutines
//
// Each program has a goroutine that owns it (process.Program.Serve), and one goroutine reaps
// (process.Table.Reap). One emits ticks (Hub.Tick). Executions have theirs in unit/component. The
// configuration in use is guarded by one lock (core.changing) and changes atomically.
package unit
