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

// checkKill is how long the end of a check's command may take after KILL.
const checkKill = time.Second

// readiness is what one run of a program has to show before it is running. The
// goroutine that owns the program owns it.
type readiness struct {
	checks []ready.Check
	line   *ready.Line   // nil: no line is looked for
	notify *ready.Notify // nil: the program does not tell
	stop   func()        // ends the checks, and returns when they have ended
}

// verdict is how the checks of a run ended.
type verdict struct {
	run uint64
	err error // nil: it is ready
}

// checkNumber is the mark of the processes that check a program: not its own,
// since they are none of what it left.
func checkNumber(of proctree.Program) proctree.Program { return proctree.MaxProgram - of }

// markedFor returns the program that a mark is for, also one of a check.
func markedFor(mark proctree.Program) proctree.Program {
	if mark > proctree.MaxProgram/2 {
		return proctree.MaxProgram - mark
	}
	return mark
}

// prepareChecks makes the checks of a new run, before it is forked: it may need a
// socket, and its first line may be the one that is waited for.
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
		if p.readiness.notify, err = ready.Listen(p.mine, p.strange); err != nil {
			return err
		}
		p.readiness.checks = append(p.readiness.checks, p.readiness.notify)
	}
	if r.TCP != "" {
		p.readiness.checks = append(p.readiness.checks, ready.TCP(r.TCP, r.Interval))
	}
	if r.HTTP != "" {
		check, err := ready.HTTP(r.HTTP, r.Interval)
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

// mine reports whether a process is one of the program's.
func (p *owner) mine(pid int) bool {
	found, err := p.table.tree.Identify(pid)
	return err == nil && found.Program == p.number
}

func (p *owner) strange(pid int) {
	p.table.log.Warn("a notification is not from a process of the program", "process", p.Name(), "pid", pid)
}

// awaitReady begins to check the program that has just been started.
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
		p.verdicts <- verdict{run: run, err: err} // its place is free: nobody else is under way
	})
}

// judged takes the verdict of the checks.
func (p *owner) judged(ctx context.Context, v verdict) {
	if v.run != p.status.Run || p.machine.process != wire.Starting {
		return
	}
	if v.err == nil {
		p.happened(ctx, event{what: readied})
		return
	}
	p.table.log.Error("cannot become ready", "process", p.Name(), "error", v.err)
	p.publish(func(s *Status) { s.Unready, s.SpawnErr = true, v.err.Error() })
	p.happened(ctx, event{what: unready})
}

// readyByNow tells the state machine of a readiness that the program showed
// before it ended, and that nobody has told of yet.
func (p *owner) readyByNow(ctx context.Context) {
	if p.machine.process == wire.Starting && p.rules.checked && !p.machine.ready && ready.Met(p.readiness.checks) {
		p.happened(ctx, event{what: readied})
	}
}

// stopChecks ends the checks; the socket stays, for what the program says later.
func (p *owner) stopChecks() {
	if p.readiness.stop != nil {
		p.readiness.stop()
		p.readiness.stop = nil
	}
	select {
	case <-p.verdicts: // comes too late
	default:
	}
}

// abandonChecks ends the checks and gives up the socket.
func (p *owner) abandonChecks() {
	p.stopChecks()
	if p.readiness.notify != nil {
		p.readiness.notify.Close()
	}
	p.readiness = readiness{}
}

// tap lets the check for a line see what goes to a log.
func (r readiness) tap(to io.Writer) io.Writer {
	if r.line == nil {
		return to
	}
	return r.line.Tap(to)
}

// env is what the program needs to tell that it is ready.
func (r readiness) env() []string {
	if r.notify == nil {
		return nil
	}
	return []string{r.notify.Env()}
}

// checkCommand returns the attempt to run a command as the program is run, with
// its user, folder and environment. The owner of the program calls it, others
// what it returns.
func (p *owner) checkCommand(argv []string) func(ctx context.Context) error {
	number := checkNumber(p.number)
	spec := reaper.Spec{
		Args: argv, Env: remarked(p.environment(), p.table.tree.Env(number, "", "")), Dir: p.cfg.Directory,
		Credential: credential(p.cfg.User), Around: p.table.tree.Around(number, proctree.Unclaimed),
	}
	p.describe(number)
	if p.cfg.Umask >= 0 {
		spec.Umask = &p.cfg.Umask
	}
	return func(ctx context.Context) error {
		var err error
		spec := spec
		if spec.Path, err = p.find(argv[0]); err != nil {
			return err
		}
		return p.runCheck(ctx, spec, number)
	}
}

// remarked replaces the mark in an environment by the one in another.
func remarked(env, marks []string) []string {
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

// runCheck runs a check's command to its end, or to that of ctx, and leaves
// none of its processes.
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

// lastLine returns the end of an output for a message: ": no such file".
func lastLine(output []byte) string {
	const most = 200
	output = bytes.TrimSpace(output)
	line := output[bytes.LastIndexByte(output, '\n')+1:]
	if len(line) == 0 {
		return ""
	}
	return fmt.Sprintf(": %q", line[:min(len(line), most)])
}
