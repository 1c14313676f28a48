package unit

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/toskose/toskose/unit/config"
	"github.com/toskose/toskose/unit/logs"
	"github.com/toskose/toskose/unit/process"
	"github.com/toskose/toskose/unit/reaper"
	"github.com/toskose/toskose/unit/wire"
)

// ReceiveTermination subscribes to TERM, INT and QUIT, which end a unit. Call it first in a process:
// until then such a signal is lost, and PID 1 does not end.
func ReceiveTermination() chan os.Signal {
	received := make(chan os.Signal, 1)
	signal.Notify(received, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT)
	return received
}

// receiveSignals subscribes to the unit's other signals: HUP restarts it and USR2 reopens its logs, as
// with Supervisor. USR1, WINCH and CONT are forwarded to the main processes that have a handler for
// them; for all others they would be useless or fatal.
func receiveSignals() chan os.Signal {
	received := make(chan os.Signal, 16)
	signal.Notify(received, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGCONT)
	return received
}

// handle handles a signal to the unit.
func (u *Unit) handle(sig os.Signal) {
	number, ok := sig.(syscall.Signal)
	if !ok {
		return
	}
	u.log.Info("received", "signal", reaper.SignalName(number))
	switch number {
	case syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT:
		u.beginEnd(wire.DaemonShutdown)
	case syscall.SIGHUP:
		u.beginEnd(wire.DaemonRestarting)
	case syscall.SIGUSR2:
		u.reopen()
	default:
		u.forward(number)
	}
}

// reopen reopens all logs, for example after an external rotation.
func (u *Unit) reopen() {
	files := []*logs.File{u.own}
	for _, p := range u.names.inOrder() {
		files = append(files, p.Logs()...)
	}
	for _, f := range files {
		if f == nil {
			continue
		}
		if err := f.Reopen(); err != nil {
			u.log.Error("cannot reopen a log", "log", f.Path(), "error", err)
		}
	}
}

func (u *Unit) forward(sig syscall.Signal) {
	for _, p := range u.names.inOrder() {
		s := p.Status()
		if s.PID == 0 || s.Left || !catches(s.PID, sig) {
			continue
		}
		if err := p.Signal(u.lifetime, sig); err != nil {
			u.log.Warn("cannot forward a signal", "process", p.Name(), "error", err)
		}
	}
}

// catches reports whether a process has a handler for a signal (SigCgt of proc_pid_status(5)).
func catches(pid int, sig syscall.Signal) bool {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		mask, ok := strings.CutPrefix(lines.Text(), "SigCgt:")
		if !ok {
			continue
		}
		bits, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
		return err == nil && bits&(1<<(uint(sig)-1)) != 0
	}
	return false
}

// SignalProcess sends a signal ("HUP", "SIGHUP" or "1") to a process's main process, or to those of
// a group named `group:*`, and returns the statuses of the latter.
func (u *Processes) SignalProcess(ctx context.Context, name, sig string) ([]wire.ProcessStatus, error) {
	number, err := signalNumber(sig)
	return u.byName(ctx, name, true, signalling(number, err))
}

// SignalProcessGroup signals the processes of a group that can be signalled.
func (u *Processes) SignalProcessGroup(ctx context.Context, name, sig string) ([]wire.ProcessStatus, error) {
	number, err := signalNumber(sig)
	return u.byGroup(ctx, name, true, signalling(number, err))
}

// SignalAllProcesses signals every process that can be signalled.
func (u *Processes) SignalAllProcesses(ctx context.Context, sig string) ([]wire.ProcessStatus, error) {
	number, err := signalNumber(sig)
	return u.all(ctx, true, signalling(number, err))
}

// signalling returns the action that sends a signal, or that fails with bad.
func signalling(sig syscall.Signal, bad error) func([]*process.Program) batch {
	return func([]*process.Program) batch {
		return batch{eligible: withStatus(process.Status.Signallable), begin: func(ctx context.Context, p *process.Program) (completion, error) {
			if bad != nil {
				return nil, bad
			}
			if s := p.Status(); !s.Signallable() {
				return nil, wire.NewFault(wire.NotRunning, p.Namespec())
			}
			if err := p.Signal(ctx, sig); err != nil {
				return nil, wire.NewFault(wire.Failed, fmt.Sprintf("%s: %v", p.Namespec(), err))
			}
			return nil, nil
		}}
	}
}

// signalNumber parses the name of a signal, with or without SIG, or its number.
func signalNumber(text string) (syscall.Signal, error) {
	if sig, ok := config.Signal(text); ok {
		return sig, nil
	}
	return 0, wire.NewFault(wire.BadSignal, text)
}
