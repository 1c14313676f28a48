package rpc

import (
	"context"
	"strings"

	"github.com/toskose/toskose/unit/wire"
)

// apiVersion is the one that supervisorctl insists on.
const apiVersion = "3.0"

func (s *server) getAPIVersion(context.Context, args) (any, error) { return apiVersion, nil }

func (s *server) getSupervisorVersion(context.Context, args) (any, error) { return s.version, nil }

func (s *server) getIdentification(context.Context, args) (any, error) {
	return s.unit.Identification(), nil
}

func (s *server) getPID(context.Context, args) (any, error) { return s.unit.PID(), nil }

func (s *server) getState(context.Context, args) (any, error) {
	state := s.unit.State()
	return map[string]any{"statecode": int(state), "statename": state.String()}, nil
}

func (s *server) shutdown(context.Context, args) (any, error) { return true, s.unit.Shutdown() }

func (s *server) restart(context.Context, args) (any, error) { return true, s.unit.Restart() }

func (s *server) sendRemoteCommEvent(_ context.Context, a args) (any, error) {
	return true, s.unit.SendRemoteCommEvent(a.str(0), a.str(1))
}

func (s *server) reloadConfig(ctx context.Context, _ args) (any, error) {
	reloaded, err := s.unit.ReloadConfig(ctx)
	return []any{[]any{reloaded.Added, reloaded.Changed, reloaded.Removed}}, err
}

func (s *server) addProcessGroup(ctx context.Context, a args) (any, error) {
	return true, s.unit.AddProcessGroup(ctx, a.str(0))
}

func (s *server) removeProcessGroup(ctx context.Context, a args) (any, error) {
	return true, s.unit.RemoveProcessGroup(ctx, a.str(0))
}

func (s *server) getProcessInfo(ctx context.Context, a args) (any, error) {
	return s.unit.ProcessInfo(ctx, a.str(0))
}

func (s *server) getAllProcessInfo(ctx context.Context, _ args) (any, error) {
	return s.unit.AllProcessInfo(ctx)
}

func (s *server) getAllConfigInfo(context.Context, args) (any, error) {
	return s.unit.AllConfigInfo()
}

func (s *server) sendProcessStdin(ctx context.Context, a args) (any, error) {
	return true, s.unit.SendProcessStdin(ctx, a.str(0), a.str(1))
}

// trueOr returns Supervisor's true for one process, statuses for `group:*`.
func trueOr(name string, statuses []wire.ProcessStatus, err error) (any, error) {
	if strings.HasSuffix(name, ":*") || strings.HasSuffix(name, ":") {
		return statuses, err
	}
	return true, err
}

func (s *server) signalProcess(ctx context.Context, a args) (any, error) {
	statuses, err := s.unit.SignalProcess(ctx, a.str(0), a.str(1))
	return trueOr(a.str(0), statuses, err)
}

func (s *server) signalProcessGroup(ctx context.Context, a args) (any, error) {
	return s.unit.SignalProcessGroup(ctx, a.str(0), a.str(1))
}

func (s *server) signalAllProcesses(ctx context.Context, a args) (any, error) {
	return s.unit.SignalAllProcesses(ctx, a.str(0))
}

func (s *server) startProcess(ctx context.Context, a args) (any, error) {
	statuses, err := s.unit.StartProcess(ctx, a.str(0), a.bool(1))
	return trueOr(a.str(0), statuses, err)
}

func (s *server) startProcessGroup(ctx context.Context, a args) (any, error) {
	return s.unit.StartProcessGroup(ctx, a.str(0), a.bool(1))
}

func (s *server) startAllProcesses(ctx context.Context, a args) (any, error) {
	return s.unit.StartAllProcesses(ctx, a.bool(0))
}

func (s *server) stopProcess(ctx context.Context, a args) (any, error) {
	statuses, err := s.unit.StopProcess(ctx, a.str(0), a.bool(1))
	return trueOr(a.str(0), statuses, err)
}

func (s *server) stopProcessGroup(ctx context.Context, a args) (any, error) {
	return s.unit.StopProcessGroup(ctx, a.str(0), a.bool(1))
}

func (s *server) stopAllProcesses(ctx context.Context, a args) (any, error) {
	return s.unit.StopAllProcesses(ctx, a.bool(0))
}

func (s *server) readLog(_ context.Context, a args) (any, error) {
	return s.unit.ReadLog(a.int(0), a.int(1))
}

func (s *server) clearLog(context.Context, args) (any, error) { return true, s.unit.ClearLog() }

func (s *server) readProcessLog(stream wire.Stream) func(context.Context, args) (any, error) {
	return func(_ context.Context, a args) (any, error) {
		return s.unit.ReadProcessLog(a.str(0), stream, a.int(1), a.int(2))
	}
}

func (s *server) tailProcessLog(stream wire.Stream) func(context.Context, args) (any, error) {
	return func(_ context.Context, a args) (any, error) {
		tail, err := s.unit.TailProcessLog(a.str(0), stream, a.int(1), a.int(2))
		return []any{tail.Data, tail.Offset, tail.Overflow}, err
	}
}

func (s *server) clearProcessLogs(_ context.Context, a args) (any, error) {
	return true, s.unit.ClearProcessLogs(a.str(0))
}

func (s *server) clearAllProcessLogs(context.Context, args) (any, error) {
	return s.unit.ClearAllProcessLogs()
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
