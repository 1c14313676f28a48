package component

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toskose/toskose/spec/protocol"
	"github.com/toskose/toskose/unit/process"
	"github.com/toskose/toskose/unit/wire"
)

// execution is a run of an operation that has not ended. One goroutine carries
// it (Set.carry).
type execution struct {
	id        string
	component string
	operation protocol.Operation
	kind      protocol.Kind
	program   *process.Program // nil: the operation has no implementation
	inputs    map[string]string
	timeout   time.Duration // 0: none
	target    string        // where success leads to
	instead   *execution    // a start that this stop cancels first

	ctx    context.Context // ends, with a cause, when the execution is to end
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when its end is in the journal

	unwritten chan struct{} // closed when what became of it could not be written at once; nil: nobody asks

	mu     sync.Mutex
	output process.Output
	cause  error // why what became of it cannot be written; nil: it can
	told   bool  // unwritten is closed
}

// noteUnwritten keeps why what became of it could not be written; nil: it was.
func (x *execution) noteUnwritten(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.cause = err
	if x.cause != nil && !x.told && x.unwritten != nil {
		x.told = true
		close(x.unwritten)
	}
}

// delayed says why nobody is told what became of an execution; empty: nothing
// is held back.
func (x *execution) delayed() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.cause == nil {
		return ""
	}
	return fmt.Sprintf("what became of %s of %s cannot be written into the journal yet: %v", x.operation, x.component, x.cause)
}

// progress returns what is known while it runs.
func (x *execution) progress() (pid int, end wire.Output) {
	x.mu.Lock()
	out := x.output
	x.mu.Unlock()
	return out.PID, out.End()
}

// The causes for which an execution is ended before its time.
var (
	errCancelled  = errors.New("it was cancelled")
	errTimeout    = errors.New("its time limit passed")
	errStopped    = errors.New("it was cancelled by a stop of its process")
	errSuperseded = errors.New("it was cancelled by a stop of its component")
	errShutdown   = errors.New("the unit was shut down")
)

// Execute begins an operation and returns at once; its end is in the journal
// and in Execution. The same id is the same execution: begun is false where it
// was known. No definition may be put in force meanwhile.
func (s *Set) Execute(r wire.ExecuteRequest) (x wire.Execution, begun bool, err error) {
	operation, program, err := s.implementation(r.Component, r.Operation)
	if err != nil {
		return wire.Execution{}, false, err
	}
	if err := undeclared(r.Component, operation, program, r.Inputs); err != nil {
		return wire.Execution{}, false, err
	}
	run := &execution{
		id: r.ID, component: r.Component, operation: operation, program: program,
		inputs: maps.Clone(r.Inputs), done: make(chan struct{}), unwritten: make(chan struct{}),
		timeout: time.Duration(r.Timeout * float64(time.Second)),
	}
	if run.id == "" {
		run.id = rand.Text()
	}
	run.kind = s.kindOf(r.Component, operation)
	if program != nil {
		run.timeout = limit(run.timeout, program.Settings().Timeout, r.Part != nil)
	}
	run.ctx, run.cancel = context.WithCancelCause(s.life)
	x, begun, err = s.begin(run, r)
	if err != nil || !begun {
		run.cancel(nil)
		return s.complete(x), false, err
	}
	s.tasks.Go(func() { s.carry(run) })
	return x, true, nil
}

// limit returns how long an execution may take: as asked for, else as its operation says.
// Of a part of a Task, for which what is asked for is what is left to all, the shorter
// counts. 0: any time.
func limit(asked, own time.Duration, part bool) time.Duration {
	if asked <= 0 || part && own > 0 && own < asked {
		return own
	}
	return asked
}

// UntilDone is a wait for the end of an execution, however late.
const UntilDone time.Duration = math.MaxInt64

// undeclared refuses inputs that the operation does not declare: whoever may
// execute must not set LD_PRELOAD.
func undeclared(component string, operation protocol.Operation, p *process.Program, inputs map[string]string) error {
	var declared []string
	if p != nil {
		declared = slices.Collect(maps.Keys(p.Settings().Inputs))
		declared = slices.AppendSeq(declared, maps.Keys(p.Settings().SecretInputs))
	}
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		if slices.Contains(declared, name) {
			continue
		}
		slices.Sort(declared)
		knows := "none"
		if len(declared) > 0 {
			knows = strings.Join(declared, ", ")
		}
		return wire.NewFault(wire.UndeclaredInput, fmt.Sprintf(
			"%s of %s does not declare the input %q; it declares %s", operation, component, name, knows))
	}
	return nil
}

// environment returns the secret variables of an execution, which only the
// configuration names, and its INPUT_ variables: what was asked for, else what
// is configured, else what the secret's file holds now.
func (x *execution) environment() ([]string, error) {
	if x.program == nil {
		return nil, nil
	}
	configured := x.program.Settings()
	values := maps.Clone(configured.Inputs)
	if values == nil {
		values = map[string]string{}
	}
	for name, file := range configured.SecretInputs {
		if _, given := x.inputs[name]; given {
			continue
		}
		secret, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("cannot read the secret input %q: %w", name, err)
		}
		values[name] = strings.TrimSuffix(string(secret), "\n")
	}
	maps.Copy(values, x.inputs)
	env := make([]string, 0, len(values)+len(configured.SecretEnv))
	for _, name := range slices.Sorted(maps.Keys(configured.SecretEnv)) {
		secret, err := os.ReadFile(configured.SecretEnv[name])
		if err != nil {
			return nil, fmt.Errorf("cannot read the secret variable %q: %w", name, err)
		}
		env = append(env, name+"="+strings.TrimSuffix(string(secret), "\n"))
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		env = append(env, "INPUT_"+name+"="+values[name])
	}
	return env, nil
}

// unwrittenWait is how long those who wait for an execution that has ended also
// wait for a journal that cannot be written.
const unwrittenWait = 5 * time.Second

// await waits until an execution has ended or the wait is over. That its end
// cannot be written is the fault JournalUnavailable.
func (s *Set) await(ctx context.Context, x *execution, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	ended := x
	var superseded <-chan struct{}
	var late <-chan time.Time
	if x.instead != nil {
		superseded = x.instead.unwritten
	}
	for unwritten := (<-chan struct{})(x.unwritten); ; {
		select {
		case <-x.done:
			return nil
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-superseded:
			ended = x.instead
		case <-unwritten:
			ended = x
		case <-late:
			if detail := ended.delayed(); detail != "" {
				return &wire.Fault{Code: wire.JournalUnavailable, Detail: detail, Instance: s.Instance()}
			}
			late = nil
			continue
		}
		superseded, unwritten = nil, nil
		late = time.After(unwrittenWait)
	}
}

// Execution returns an execution by its id as it is once it has ended or the
// wait is over; faults NoExecution and JournalUnavailable.
func (s *Set) Execution(ctx context.Context, id string, wait time.Duration) (wire.Execution, error) {
	if x := s.running(id); x != nil && wait > 0 {
		if err := s.await(ctx, x, wait); err != nil {
			return wire.Execution{}, err
		}
	}
	x, ok := s.execution(id)
	if !ok {
		return wire.Execution{}, &wire.Fault{
			Code: wire.NoExecution, Detail: fmt.Sprintf("no execution has the id %q", id), Instance: s.Instance(),
		}
	}
	return s.complete(x), nil
}

// complete adds the end of the output of an execution that has ended, which is in its
// last journal entry, as long as that is kept.
func (s *Set) complete(x wire.Execution) wire.Execution {
	j := s.history.Load()
	if !x.Outcome.Done() || j == nil {
		return x
	}
	page, err := j.Read(j.Cursor(x.Seq-1), 1)
	if err == nil && len(page.Entries) == 1 && page.Entries[0].Seq == x.Seq && page.Entries[0].Execution != nil {
		x.Output = page.Entries[0].Execution.Output
	}
	return x
}

// Cancel ends an execution with all of its program's processes, by the stop
// signal, TERM, and KILL after the grace, and returns it as it ended. One that
// has ended already is returned as it is.
func (s *Set) Cancel(ctx context.Context, id string) (wire.Execution, error) {
	if x := s.running(id); x != nil {
		x.cancel(errCancelled)
	}
	return s.Execution(ctx, id, UntilDone)
}

// CancelRun ends the execution that a program runs, as Cancel does, because of a
// stop of the program; false: there is none.
func (s *Set) CancelRun(p *process.Program) (id string, ok bool) {
	x := s.liveOf(func(x *execution) bool { return x.program == p })
	if x == nil {
		return "", false
	}
	x.cancel(errStopped)
	return x.id, true
}
