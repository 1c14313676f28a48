package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/toskose/toskose/unit/logs"
	"github.com/toskose/toskose/unit/proctree"
	"github.com/toskose/toskose/unit/ready"
	"github.com/toskose/toskose/unit/reaper"
	"github.com/toskose/toskose/unit/wire"
)

// checkKill bounds the wait for a check's command after KILL.
const checkKill = time.Second

// readiness holds the readiness checks of one run. The goroutine that owns the program owns it.
type readiness struct {
	checks []ready.Check
	line   *ready.Line   // nil without a check for a line
	notify *ready.Notify // nil unless the program sends notifications
	stop   func()        // ends the checks and waits for them
}

// checkResult is the result of the checks of a run.
type checkResult struct {
	run uint64
	err error // nil: ready
}

// checkMark returns the mark of the processes that check a program. It differs from the program's
// own, so that they are not taken for descendants.
func checkMark(of proctree.Program) proctree.Program { return proctree.MaxProgram - of }

// programOfMark returns the program that a mark stands for, also if it is one of a check.
func programOfMark(mark proctree.Program) proctree.Program {
	if mark > proctree.MaxProgram/2 {
		return proctree.MaxProgram - mark
	}
	return mark
}

// prepareChecks creates the checks of a run before the fork: the process may need a notification
// socket, and its first line may be the one to wait for.
func (p *owner) prepareChecks() error {
	p.abandonChecks()
	r := p.cfg.Ready
	if r == nil {
		return nil
	}
	var err error
	if r.Log != "" {
		if p.readiness.line, err = ready.NewLine(r.Log); err != nil {
			return err
		}
		p.readiness.checks = append(p.readiness.checks, p.readiness.line)
	}
	if r.Notify {
		if p.readiness.notify, err = ready.Listen(p.ownsProcess, p.logForeignNotification); err != nil {
			return err
		}
		p.readiness.checks = append(p.readiness.checks, p.readiness.notify)
	}
	if r.TCP != "" {
		p.readiness.checks = append(p.readiness.checks, ready.TCP(r.TCP, r.Interval))
	}
	if r.HTTP != "" {
		check, err := ready.HTTP(r.HTTP, r.Interval, ready.Success)
		if err != nil {
			return err
		}
		p.readiness.checks = append(p.readiness.checks, check)
	}
	if len(r.Argv) > 0 {
		p.readiness.checks = append(p.readiness.checks,
			ready.NewPoll("command "+strings.Join(r.Argv, " "), r.Interval, p.checkCommand(r.Argv)))
	}
	return nil
}

// ownsProcess reports whether a process belongs to the program.
func (p *owner) ownsProcess(pid int) bool {
	found, err := p.table.tree.Identify(pid)
	return err == nil && found.Program == p.number
}

func (p *owner) logForeignNotification(pid int) {
	p.table.log.Warn("a notification is not from a process of the program", "process", p.Name(), "pid", pid)
}

// awaitReady starts the checks of the program that was just started.
func (p *owner) awaitReady(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Ready.Timeout)
	run, checks, ended := p.status.Run, p.readiness.checks, make(chan struct{})
	p.readiness.stop = func() {
		cancel()
		<-ended
	}
	p.waiters.Go(func() {
		defer close(ended)
		err := ready.Await(ctx, checks)
		if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("not ready after %s: %w", p.cfg.Ready.Timeout, err)
		} else if err != nil {
			err = fmt.Errorf("not ready: %w", err)
		}
		p.checkResults <- checkResult{run: run, err: err} // never blocks: no other checks are running
	})
}

// handleCheckResult handles the result of the checks.
func (p *owner) handleCheckResult(ctx context.Context, v checkResult) {
	if v.run != p.status.Run || p.machine.process != wire.Starting {
		return
	}
	if v.err == nil {
		p.stepUnrequested(ctx, event{kind: checksPassed})
		return
	}
	p.table.log.Error("cannot become ready", "process", p.Name(), "error", v.err)
	p.publish(func(s *Status) { s.Unready, s.SpawnErr = true, v.err.Error() })
	p.stepUnrequested(ctx, event{kind: checksFailed})
}

// reportEarlyReadiness reports to the state machine that the program became ready before it exited.
func (p *owner) reportEarlyReadiness(ctx context.Context) {
	if p.machine.process == wire.Starting && p.rules.hasChecks && !p.machine.ready && ready.Met(p.readiness.checks) {
		p.stepUnrequested(ctx, event{kind: checksPassed})
	}
}

// stopChecks ends the checks but keeps the socket for later notifications.
func (p *owner) stopChecks() {
	if p.readiness.stop != nil {
		p.readiness.stop()
		p.readiness.stop = nil
	}
	select {
	case <-p.checkResults: // too late
	default:
	}
}

// abandonChecks ends the checks and closes the socket.
func (p *owner) abandonChecks() {
	p.stopChecks()
	if p.readiness.notify != nil {
		p.readiness.notify.Close()
	}
	p.readiness = readiness{}
}

// tap also feeds a log's data to the check for a line.
func (r readiness) tap(to io.Writer) io.Writer {
	if r.line == nil {
		return to
	}
	return r.line.Tap(to)
}

// env returns the variables that the program needs for notifications.
func (r readiness) env() []string {
	if r.notify == nil {
		return nil
	}
	return []string{r.notify.Env()}
}

// checkCommand returns a function that runs a command with the program's user, folder and
// environment. The owner calls checkCommand; any goroutine may call the result.
func (p *owner) checkCommand(argv []string) func(ctx context.Context) error {
	number := checkMark(p.number)
	spec := reaper.Spec{
		Args: argv, Env: replaceMark(p.environment(), p.table.tree.Env(number, "", "")), Dir: p.cfg.Directory,
		Credential: credential(p.cfg.User), Around: p.table.tree.Around(number, proctree.Unclaimed),
	}
	p.registerMark(number)
	if p.cfg.Umask >= 0 {
		spec.Umask = &p.cfg.Umask
	}
	return func(ctx context.Context) error {
		var err error
		spec := spec
		if spec.Path, err = p.findCommand(argv[0]); err != nil {
			return err
		}
		return p.runCheck(ctx, spec, number)
	}
}

// replaceMark returns env with its mark replaced by that in marks.
func replaceMark(env, marks []string) []string {
	for _, mark := range marks {
		name, _, _ := strings.Cut(mark, "=")
		for i := range env {
			if name == proctree.EnvMark && strings.HasPrefix(env[i], name+"=") {
				env[i] = mark
			}
		}
	}
	return env
}

// runCheck runs a check's command until it ends or ctx does, and leaves none of its processes.
func (p *owner) runCheck(ctx context.Context, spec reaper.Spec, number proctree.Program) error {
	out, childOut, err := logs.Start(io.Discard, logs.PumpOptions{})
	if err != nil {
		return fmt.Errorf("cannot make pipes: %w", err)
	}
	defer out.Close()
	defer childOut.Close()
	nothing, end, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("cannot make pipes: %w", err)
	}
	end.Close()
	defer nothing.Close()
	spec.Stdin, spec.Stdout, spec.Stderr = nothing, childOut, childOut
	child, err := p.table.reaper.Start(spec)
	if err != nil {
		return err
	}
	select {
	case <-child.Done():
	case <-ctx.Done():
	}
	kill, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkKill)
	defer cancel()
	if _, err := p.table.tree.End(kill, []proctree.Program{number}, 0); err != nil {
		p.table.log.Error("cannot end a check", "process", p.Name(), "error", err)
	}
	if ctx.Err() != nil {
		return errors.New("it did not end in time")
	}
	out.Sync()
	if exit := child.Exit(); !exit.Success() {
		tail, _ := out.Tail()
		return fmt.Errorf("%s%s", exit, lastLine(tail))
	}
	return nil
}

// lastLine formats the last line of an output for a message: ": no such file".
func lastLine(output []byte) string {
	const most = 200
	output = bytes.TrimSpace(output)
	line := output[bytes.LastIndexByte(output, '\n')+1:]
	if len(line) == 0 {
		return ""
	}
	return fmt.Sprintf(": %q", line[:min(len(line), most)])
}
