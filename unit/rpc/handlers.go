package rpc

import (
	"context"
	"strings"

	"github.com/toskose/toskose/unit/wire"
)

// apiVersion is the version that supervisorctl requires.
const apiVersion = "3.0"

func (h daemonMethods) getAPIVersion(context.Context, args) (any, error) { return apiVersion, nil }

func (h daemonMethods) getSupervisorVersion(context.Context, args) (any, error) {
	return h.version, nil
}

func (h daemonMethods) getIdentification(context.Context, args) (any, error) {
	return h.unit.Identification(), nil
}

func (h daemonMethods) getPID(context.Context, args) (any, error) { return h.unit.PID(), nil }

func (h daemonMethods) getState(context.Context, args) (any, error) {
	state := h.unit.State()
	return map[string]any{"statecode": int(state), "statename": state.String()}, nil
}

func (h lifecycleMethods) shutdown(context.Context, args) (any, error) {
	return true, h.unit.Shutdown()
}

func (h lifecycleMethods) restart(context.Context, args) (any, error) { return true, h.unit.Restart() }

func (h lifecycleMethods) sendRemoteCommEvent(_ context.Context, a args) (any, error) {
	return true, h.unit.SendRemoteCommEvent(a.str(0), a.str(1))
}

func (h groupMethods) reloadConfig(ctx context.Context, _ args) (any, error) {
	reloaded, err := h.unit.ReloadConfig(ctx)
	return []any{[]any{reloaded.Added, reloaded.Changed, reloaded.Removed}}, err
}

func (h groupMethods) addProcessGroup(ctx context.Context, a args) (any, error) {
	return true, h.unit.AddProcessGroup(ctx, a.str(0))
}

func (h groupMethods) removeProcessGroup(ctx context.Context, a args) (any, error) {
	return true, h.unit.RemoveProcessGroup(ctx, a.str(0))
}

func (h infoMethods) getProcessInfo(ctx context.Context, a args) (any, error) {
	return h.unit.ProcessInfo(ctx, a.str(0))
}

func (h infoMethods) getAllProcessInfo(ctx context.Context, _ args) (any, error) {
	return h.unit.AllProcessInfo(ctx)
}

func (h infoMethods) getAllConfigInfo(context.Context, args) (any, error) {
	return h.unit.AllConfigInfo()
}

func (h infoMethods) sendProcessStdin(ctx context.Context, a args) (any, error) {
	return true, h.unit.SendProcessStdin(ctx, a.str(0), a.str(1))
}

// trueOr returns true for one process, and the statuses for `group:*`, as Supervisor does.
func trueOr(name string, statuses []wire.ProcessStatus, err error) (any, error) {
	if strings.HasSuffix(name, ":*") || strings.HasSuffix(name, ":") {
		return statuses, err
	}
	return true, err
}

func (h signalMethods) signalProcess(ctx context.Context, a args) (any, error) {
	statuses, err := h.unit.SignalProcess(ctx, a.str(0), a.str(1))
	return trueOr(a.str(0), statuses, err)
}

func (h signalMethods) signalProcessGroup(ctx context.Context, a args) (any, error) {
	return h.unit.SignalProcessGroup(ctx, a.str(0), a.str(1))
}

func (h signalMethods) signalAllProcesses(ctx context.Context, a args) (any, error) {
	return h.unit.SignalAllProcesses(ctx, a.str(0))
}

func (h startMethods) startProcess(ctx context.Context, a args) (any, error) {
	statuses, err := h.unit.StartProcess(ctx, a.str(0), a.bool(1))
	return trueOr(a.str(0), statuses, err)
}

func (h startMethods) startProcessGroup(ctx context.Context, a args) (any, error) {
	return h.unit.StartProcessGroup(ctx, a.str(0), a.bool(1))
}

func (h startMethods) startAllProcesses(ctx context.Context, a args) (any, error) {
	return h.unit.StartAllProcesses(ctx, a.bool(0))
}

func (h stopMethods) stopProcess(ctx context.Context, a args) (any, error) {
	statuses, err := h.unit.StopProcess(ctx, a.str(0), a.bool(1))
	return trueOr(a.str(0), statuses, err)
}

func (h stopMethods) stopProcessGroup(ctx context.Context, a args) (any, error) {
	return h.unit.StopProcessGroup(ctx, a.str(0), a.bool(1))
}

func (h stopMethods) stopAllProcesses(ctx context.Context, a args) (any, error) {
	return h.unit.StopAllProcesses(ctx, a.bool(0))
}

func (h ownLogMethods) readLog(_ context.Context, a args) (any, error) {
	return h.unit.ReadLog(a.int(0), a.int(1))
}

func (h ownLogMethods) clearLog(context.Context, args) (any, error) { return true, h.unit.ClearLog() }

func (h processLogMethods) readProcessLog(stream wire.Stream) func(context.Context, args) (any, error) {
	return func(_ context.Context, a args) (any, error) {
		return h.unit.ReadProcessLog(a.str(0), stream, a.int(1), a.int(2))
	}
}

func (h processLogMethods) tailProcessLog(stream wire.Stream) func(context.Context, args) (any, error) {
	return func(_ context.Context, a args) (any, error) {
		tail, err := h.unit.TailProcessLog(a.str(0), stream, a.int(1), a.int(2))
		return []any{tail.Data, tail.Offset, tail.Overflow}, err
	}
}

func (h clearLogMethods) clearProcessLogs(_ context.Context, a args) (any, error) {
	return true, h.unit.ClearProcessLogs(a.str(0))
}

func (h clearLogMethods) clearAllProcessLogs(context.Context, args) (any, error) {
	return h.unit.ClearAllProcessLogs()
}

func (s *server) listMethods(context.Context, args) (any, error) { return s.names, nil }

func (s *server) methodHelp(_ context.Context, a args) (any, error) {
	m, known := s.methods[a.str(0)]
	if !known {
		return nil, wire.NewFault(wire.SignatureUnsupported, "")
	}
	return m.help, nil
}

func (s *server) methodSignature(_ context.Context, a args) (any, error) {
	m, known := s.methods[a.str(0)]
	if !known {
		return nil, wire.NewFault(wire.SignatureUnsupported, "")
	}
	return m.signature(), nil
}
