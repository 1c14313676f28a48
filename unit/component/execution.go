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

// execution is a run of an operation that has not ended. Set.runExecution runs it in its own
// goroutine.
type execution struct {
	id        string
	component string
	operation protocol.Operation
	kind      protocol.Kind
	program   *process.Program // nil if the operation has no implementation
	ordinary  bool             // the program runs as its own settings say, see Definition.Program
	inputs    map[string]string
	timeout   time.Duration // 0: no limit
	target    string        // state after success
	cancels   *execution    // for a stop: the start that it cancels first

	ctx    context.Context // canceled, with a cause, to end the execution early
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when its end is in the journal

	unwritten chan struct{} // closed when its end could not be written at the first attempt; nil if no one waits for that

	mu       sync.Mutex
	output   process.Output
	cause    error // why its end cannot be written; nil if it can
	reported bool  // unwritten is closed
}

// noteUnwritten records why the end of the execution could not be written, or nil once it is.
func (x *execution) noteUnwritten(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.cause = err
	if x.cause != nil && !x.reported && x.unwritten != nil {
		x.reported = true
		close(x.unwritten)
	}
}

// writeProblem returns why the end of the execution is not published yet, or "".
func (x *execution) writeProblem() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.cause == nil {
		return ""
	}
	return fmt.Sprintf("the end of %s of %s cannot be written to the journal yet: %v", x.operation, x.component, x.cause)
}

// progress returns the pid and the output while the execution runs.
func (x *execution) progress() (pid int, end wire.Output) {
	x.mu.Lock()
	out := x.output
	x.mu.Unlock()
	return out.PID, out.End()
}

// Causes for ending an execution early.
var (
	errCancelled  = errors.New("it was cancelled")
	errTimeout    = errors.New("its time limit passed")
	errStopped    = errors.New("it was cancelled by a stop of its process")
	errSuperseded = errors.New("it was cancelled by a stop of its component")
	errShutdown   = errors.New("the unit was shut down")
)

// Operations runs the operations of a Set for its clients.
type Operations struct{ set *Set }

// Operations returns the operations of the components.
func (s *Set) Operations() Operations { return Operations{s} }

// Execute begins an operation and returns at once; its end is in the journal and in Execution.
// Requests with the same id are the same execution: begun is false if the id was known. The
// execution outlives the request.
func (o Operations) Execute(_ context.Context, r wire.ExecuteRequest) (x wire.Execution, begun bool, err error) {
	s := o.set
	if err := s.serving(); err != nil {
		return wire.Execution{}, false, err
	}
	s.changing.RLock()
	defer s.changing.RUnlock()
	return s.execute(r) //nolint:contextcheck // see above
}

func (s *Set) execute(r wire.ExecuteRequest) (x wire.Execution, begun bool, err error) {
	operation, program, err := s.implementation(r.Component, r.Operation)
	if err != nil {
		return wire.Execution{}, false, err
	}
	if err := checkInputs(r.Component, operation, program, r.Inputs); err != nil {
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
	run.kind, run.ordinary = s.kindOf(r.Component, operation)
	if program != nil {
		run.timeout = timeLimit(run.timeout, program.Settings().Timeout, r.Part != nil)
	}
	run.ctx, run.cancel = context.WithCancelCause(s.life)
	x, begun, err = s.begin(run, r)
	if err != nil || !begun {
		run.cancel(nil)
		return s.withOutput(x), false, err
	}
	s.tasks.Go(func() { s.runExecution(run) })
	return x, true, nil
}

// timeLimit returns the time limit of an execution: the requested one, or else the operation's. For
// a part of a Task, where the request limits all parts together, it is the shorter of the two. 0
// means no limit.
func timeLimit(asked, own time.Duration, part bool) time.Duration {
	if asked <= 0 || part && own > 0 && own < asked {
		return own
	}
	return asked
}

// UntilDone waits for the end of an execution without a limit.
const UntilDone time.Duration = math.MaxInt64

// checkInputs rejects inputs that the operation does not declare, such as LD_PRELOAD.
func checkInputs(component string, operation protocol.Operation, p *process.Program, inputs map[string]string) error {
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

// environment returns the variables of an execution: secrets, which only the configuration names,
// and INPUT_ variables. The value of an input is that of the request, else the configured one, else
// the current content of the secret's file.
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

// unwrittenWait is how long clients that wait for an ended execution also wait for a journal that
// cannot be written.
const unwrittenWait = 5 * time.Second

// await blocks until an execution has ended or the wait is over. It returns the fault
// JournalUnavailable if the end cannot be written.
func (s *Set) await(ctx context.Context, x *execution, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	ended := x
	var superseded <-chan struct{}
	var late <-chan time.Time
	if x.cancels != nil {
		superseded = x.cancels.unwritten
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
			ended = x.cancels
		case <-unwritten:
			ended = x
		case <-late:
			if detail := ended.writeProblem(); detail != "" {
				return &wire.Fault{Code: wire.JournalUnavailable, Detail: detail, Instance: s.Instance()}
			}
			late = nil
			continue
		}
		superseded, unwritten = nil, nil
		late = time.After(unwrittenWait)
	}
}

// Execution returns an execution by its id once it has ended or the wait is over. Faults:
// NoExecution and JournalUnavailable.
func (o Operations) Execution(ctx context.Context, id string, wait time.Duration) (wire.Execution, error) {
	s := o.set
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
	return s.withOutput(x), nil
}

// withOutput adds the end of the output of an ended execution, if its last journal entry still
// exists.
func (s *Set) withOutput(x wire.Execution) wire.Execution {
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

// Cancel ends an execution and all processes of its program by the stop signal, TERM, and KILL
// after the grace period. It returns the execution once it has ended, or unchanged if it had ended
// before.
func (o Operations) Cancel(ctx context.Context, id string) (wire.Execution, error) {
	if x := o.set.running(id); x != nil {
		x.cancel(errCancelled)
	}
	return o.Execution(ctx, id, UntilDone)
}

// CancelRun cancels the execution that a program runs, because the program is being stopped. ok is
// false if there is none.
func (s *Set) CancelRun(p *process.Program) (id string, ok bool) {
	x := s.findLive(func(x *execution) bool { return x.program == p })
	if x == nil {
		return "", false
	}
	x.cancel(errStopped)
	return x.id, true
}
