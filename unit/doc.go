// Package unit supervises the processes of one container. It runs as PID 1 or
// as a subreaper, and is what clients talk to: it finds what a name means among
// the groups of a configuration, and has unit/process run the programs and
// unit/component the operations.
//
// # Shape
//
// New makes a Unit from a configuration and records the boot, Run supervises
// until a signal or Shutdown ends it, or returns ErrRestart. In between any
// goroutine may call the other methods, which are what unit/rpc serves. Each
// takes what the method of the wire takes; an error that a client is meant to see
// is a *wire.Fault in the error's chain.
//
//   - Processes, Groups and Logs have Supervisor's methods, as far as they act on
//     processes. StartProcess, StopProcess and SignalProcess answer nil for one
//     process (Supervisor's true), and statuses for `group:*`.
//   - Executions has those of the JSON API; Healthy is what /healthz answers,
//     and Ready what /readyz does.
//   - SendRemoteCommEvent, and what else happens, reaches the event listeners:
//     the configured processes that package unit/events tells of it.
//
// # Reloading
//
// ReloadConfig reads the files again and names the groups that differ from what
// is in use; AddProcessGroup and RemoveProcessGroup bring the difference into
// use. A configuration with any problem changes nothing (fault CANT_REREAD).
//
// What takes no restart is in use, also by running processes, as soon as
// ReloadConfig has answered, and makes no group a changed one: priority (of
// programs and groups), autostart, autorestart, exitcodes, startsecs,
// startretries, stopsignal, stopwaitsecs, stopasgroup, killasgroup,
// *_logfile_maxbytes, *_logfile_backups, toskose_inputs,
// toskose_secret_inputs, toskose_secret_environment,
// toskose_timeout, toskose_after, toskose_requires, and which section a process comes from. A start or stop that
// is under way keeps its times. Every other key of a program takes a new start of it, [supervisord]'s environment
// too, and so do an event listener's events, buffer_size and result_handler. The
// rest of [supervisord] and the servers take a restart of the unit, which the log
// says.
//
// Where this differs from Supervisor, and why:
//
//   - There each of the keys above is a change of the group, and update stops a
//     service to change the size of its log.
//   - A group in use that could keep some of its processes is among the added
//     ones, not the changed ones, and AddProcessGroup replaces what changed,
//     stops what is gone and adds what is new, nothing else: update stops all of
//     a changed group, and StopProcessGroup cannot know who calls it.
//     supervisorctl's words for that are "available" and "added process group".
//     For a group of which nothing could be kept AddProcessGroup answers
//     ALREADY_ADDED, as there.
//   - AllConfigInfo says of each process whether it is in use, not of its group.
//
// What was replaced begins as at the start of the unit: it runs if autostart
// says so. What a process left behind stays its name's, also when that is
// removed, comes back, or gets another command.
//
// A component is reloaded with the group of its name, protocol and programs
// together; one without programs counts as a group without processes. It stays
// in its state, also while the configuration does not have it. A protocol that
// does not know the state is refused: by ReloadConfig with CANT_REREAD, and, if
// the component has moved since, by AddProcessGroup with FAILED. Only a
// component that nothing was ever done to moves, to the new initial state.
// Nothing of a component is exchanged while an operation of it executes
// (STILL_RUNNING).
//
// # Order
//
// What is to be started or stopped is a sequence: each process has its turn as soon
// as nothing hinders it, those of equal standing by priority. A process that
// comes after others (toskose_after) is hindered by those that are started with it
// until they are RUNNING, or, where they are one-shot, have ended well; what it
// requires (toskose_requires) is started with it, and it is stopped with that. A client's
// start is given up when what it waits for has failed; what starts by itself waits on,
// and says what for.
//
// # Who owns what
//
// Each program has a goroutine that owns it (process.Program.Serve), and one
// reaps for all (process.Table.Reap). One goroutine emits ticks (Hub.Tick).
// Executions are unit/component's. What is in use changes behind one lock
// (groups.changing), as a whole or not at all.
package unit
