package rpc

import (
	"context"
	"maps"
	"slices"

	"github.com/toskose/toskose/unit/wire"
)

// fillMethods fills the method table. It has every method of Supervisor 4 under the same
// name, with the same parameters.
func (s *server) fillMethods(u Unit) {
	s.methods = map[string]method{}
	for _, m := range slices.Concat(
		daemonMethods{u, s.version}.table(), lifecycleMethods{u}.table(), groupMethods{u}.table(), infoMethods{u}.table(),
		signalMethods{u}.table(), startMethods{u}.table(), stopMethods{u}.table(),
		ownLogMethods{u}.table(), processLogMethods{u}.table(), clearLogMethods{u}.table(), s.systemMethods(),
	) {
		for _, name := range append(m.aliases, m.name) {
			m.name = name
			s.methods[name] = m
		}
	}
	s.names = slices.Sorted(maps.Keys(s.methods))
}

// Parameters shared by several methods.
var (
	processName = param{name: "name", kind: "string"}
	groupName   = param{name: "name", kind: "string"}
	methodName  = param{name: "name", kind: "string"}
	wait        = param{name: "wait", kind: "boolean", fallback: true}
	signalName  = param{name: "signal", kind: "string", number: true}
	logOffset   = param{name: "offset", kind: "int"}
	logLength   = param{name: "length", kind: "int"}
)

func (h daemonMethods) table() []method {
	return []method{
		{name: "supervisor.getAPIVersion", aliases: []string{"supervisor.getVersion"}, returns: "string", help: "Returns the version of Supervisor's API.", do: h.getAPIVersion},
		{name: "supervisor.getSupervisorVersion", returns: "string", help: "Returns the version of the unit, which is not one of Supervisor's.", do: h.getSupervisorVersion},
		{name: "supervisor.getIdentification", returns: "string", help: "Returns the identifier in the configuration.", do: h.getIdentification},
		{name: "supervisor.getPID", returns: "int", help: "Returns the process id of the unit.", do: h.getPID},
		{name: "supervisor.getState", returns: "struct", help: "Returns the state of the unit, as statecode and statename.", do: h.getState},
	}
}

func (h lifecycleMethods) table() []method {
	return []method{
		{name: "supervisor.shutdown", returns: "boolean", help: "Begins to stop every process and then the unit; returns true at once.", do: h.shutdown},
		{name: "supervisor.restart", returns: "boolean", help: "Begins to stop every process and to restart the unit with the same process id; returns true at once.", do: h.restart},
		{
			name:   "supervisor.sendRemoteCommEvent",
			params: []param{{name: "type", kind: "string", number: true}, {name: "data", kind: "string", number: true}}, returns: "boolean",
			help: "Sends a REMOTE_COMMUNICATION event to the listeners that subscribed to it.", always: true, do: h.sendRemoteCommEvent,
		},
	}
}

func (h groupMethods) table() []method {
	return []method{
		{
			name: "supervisor.reloadConfig", returns: "array",
			help: "Reads the configuration again and returns the groups that are to be added, changed and removed. What needs no restart is applied to running processes at once.",
			do:   h.reloadConfig,
		},
		{
			name: "supervisor.addProcessGroup", params: []param{groupName}, returns: "boolean",
			help: "Activates a group of the configuration as it was last read; of one that is active, the processes that changed.", do: h.addProcessGroup,
		},
		{name: "supervisor.removeProcessGroup", params: []param{groupName}, returns: "boolean", help: "Deactivates a group, which must be stopped.", do: h.removeProcessGroup},
	}
}

func (h infoMethods) table() []method {
	return []method{
		{name: "supervisor.getProcessInfo", params: []param{processName}, returns: "struct", help: "Returns the state of a process.", do: h.getProcessInfo},
		{name: "supervisor.getAllProcessInfo", returns: "array", help: "Returns the state of every process, by group and name.", do: h.getAllProcessInfo},
		{name: "supervisor.getAllConfigInfo", returns: "array", help: "Returns the configuration of every process, by name.", do: h.getAllConfigInfo},
		{
			name: "supervisor.sendProcessStdin", params: []param{processName, {name: "chars", kind: "string"}}, returns: "boolean",
			help: "Writes characters to the standard input of a process.", do: h.sendProcessStdin,
		},
	}
}

func (h signalMethods) table() []method {
	return []method{
		{
			name: "supervisor.signalProcess", params: []param{processName, signalName}, returns: "boolean",
			help: "Sends a signal, by name or number, to a process (or to a group's, if the name ends in \":*\"; returns statuses then).", do: h.signalProcess,
		},
		{
			name: "supervisor.signalProcessGroup", params: []param{groupName, signalName}, returns: "array",
			help: "Sends a signal, by name or number, to the processes of a group that can be signalled.", do: h.signalProcessGroup,
		},
		{
			name: "supervisor.signalAllProcesses", params: []param{signalName}, returns: "array",
			help: "Sends a signal, by name or number, to every process that can be signalled.", do: h.signalAllProcesses,
		},
	}
}

func (h startMethods) table() []method {
	return []method{
		{
			name: "supervisor.startProcess", params: []param{processName, wait}, returns: "boolean",
			help: "Starts a process (or a group's that are not operations, if the name ends in \":*\"; returns statuses then), and waits until it runs.", do: h.startProcess,
		},
		{
			name: "supervisor.startProcessGroup", params: []param{groupName, wait}, returns: "array",
			help: "Starts the processes of a group that do not run and are not operations of a component, and waits until they do.", do: h.startProcessGroup,
		},
		{name: "supervisor.startAllProcesses", params: []param{wait}, returns: "array", help: "Starts every process that does not run and is not an operation of a component, and waits until they do.", do: h.startAllProcesses},
	}
}

func (h stopMethods) table() []method {
	return []method{
		{
			name: "supervisor.stopProcess", params: []param{processName, wait}, returns: "boolean",
			help: "Stops a process and its descendants (or a group's, if the name ends in \":*\"; returns statuses then), and waits until none is left.",
			do:   h.stopProcess,
		},
		{
			name: "supervisor.stopProcessGroup", params: []param{groupName, wait}, returns: "array",
			help: "Stops the processes of a group that run, with their descendants, and waits until none is left.", do: h.stopProcessGroup,
		},
		{
			name: "supervisor.stopAllProcesses", params: []param{wait}, returns: "array",
			help: "Stops every process that runs, with their descendants, and waits until none is left.", do: h.stopAllProcesses,
		},
	}
}

func (h ownLogMethods) table() []method {
	return []method{
		{
			name: "supervisor.readLog", aliases: []string{"supervisor.readMainLog"}, params: []param{logOffset, logLength}, returns: "string",
			help: "Reads length bytes of the unit's log from offset; to its end with length 0, its last bytes with a negative offset.", do: h.readLog,
		},
		{name: "supervisor.clearLog", returns: "boolean", help: "Empties the unit's log.", do: h.clearLog},
	}
}

func (h processLogMethods) table() []method {
	read := []param{processName, logOffset, logLength}
	return []method{
		{
			name: "supervisor.readProcessStdoutLog", aliases: []string{"supervisor.readProcessLog"}, params: read, returns: "string",
			help: "Reads length bytes of a process's standard output from offset; to its end with length 0, its last bytes with a negative offset.",
			do:   h.readProcessLog(wire.Stdout),
		},
		{
			name: "supervisor.readProcessStderrLog", params: read, returns: "string",
			help: "Reads length bytes of a process's standard error from offset; to its end with length 0, its last bytes with a negative offset.",
			do:   h.readProcessLog(wire.Stderr),
		},
		{
			name: "supervisor.tailProcessStdoutLog", aliases: []string{"supervisor.tailProcessLog"}, params: read, returns: "array",
			help: "Returns the additions to a process's standard output since offset, at most length bytes, the next offset, and whether there was more.",
			do:   h.tailProcessLog(wire.Stdout),
		},
		{
			name: "supervisor.tailProcessStderrLog", params: read, returns: "array",
			help: "Returns the additions to a process's standard error since offset, at most length bytes, the next offset, and whether there was more.",
			do:   h.tailProcessLog(wire.Stderr),
		},
	}
}

func (h clearLogMethods) table() []method {
	return []method{
		{
			name: "supervisor.clearProcessLogs", aliases: []string{"supervisor.clearProcessLog"}, params: []param{processName}, returns: "boolean",
			help: "Empties the logs of a process.", do: h.clearProcessLogs,
		},
		{name: "supervisor.clearAllProcessLogs", returns: "array", help: "Empties the logs of every process.", do: h.clearAllProcessLogs},
	}
}

func (s *server) systemMethods() []method {
	return []method{
		{name: "system.listMethods", returns: "array", always: true, help: "Returns the names of all methods, sorted.", do: s.listMethods},
		{name: "system.methodHelp", params: []param{methodName}, returns: "string", always: true, help: "Returns a description of a method.", do: s.methodHelp},
		{
			name: "system.methodSignature", params: []param{methodName}, returns: "array", always: true,
			help: "Returns the types of a method: of its result, then of each parameter.", do: s.methodSignature,
		},
		{
			name: "system.multicall", params: []param{{name: "calls", kind: "array"}}, returns: "array", always: true,
			help: "Makes calls, each a struct of methodName and params, one after the other; returns their values, a struct of faultCode and faultString for one that failed.",
			do:   func(ctx context.Context, a args) (any, error) { return s.multicall(ctx, a.list(0)) },
		},
	}
}
