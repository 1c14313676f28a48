package unit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toskose/toskose/unit/wire"
)

// execution is a run of an operation that has not ended. One goroutine carries
// it (Unit.carry).
type execution struct {
	id        string
	component string
	operation string // "interface.operation"
	kind      wire.OperationKind
	program   *program // nil: the operation has no implementation
	inputs    map[string]string
	timeout   time.Duration // 0: none
	target    string        // where success leads to
	instead   *execution    // a start that this stop cancels first

	ctx    context.Context // ends, with a cause, when the execution is to end
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when its end is in the journal

	mu     sync.Mutex
	pid    int
	output output
}

// progress gives what is known while it runs.
func (x *execution) progress() (pid int, stdout, stderr string) {
	x.mu.Lock()
	pid, out := x.pid, x.output
	x.mu.Unlock()
	stdout, stderr = out.tails()
	return pid, stdout, stderr
}

// The causes for which an execution is ended before its time.
var (
	errCancelled  = errors.New("it was cancelled")
	errTimeout    = errors.New("its time limit passed")
	errStopped    = errors.New("it was cancelled by a stop of its process")
	errSuperseded = errors.New("it was cancelled by a stop of its component")
	errShutdown   = errors.New("the unit was shut down")
)

// Execute begins an operation and answers at once; its end is in the journal
// and in Execution. The same id is the same execution.
func (u *Unit) Execute(_ context.Context, r wire.ExecuteRequest) (wire.Execution, error) {
	if err := u.serving(); err != nil {
		return wire.Execution{}, err
	}
	u.arranging.RLock()
	defer u.arranging.RUnlock()
	operation, program, err := u.names.operation(r.Component, r.Operation)
	if err != nil {
		return wire.Execution{}, err
	}
	if err := undeclared(r.Component, operation, program, r.Inputs); err != nil {
		return wire.Execution{}, err
	}
	x := &execution{
		id: r.ID, component: r.Component, operation: operation, program: program,
		inputs: maps.Clone(r.Inputs), done: make(chan struct{}),
		timeout: time.Duration(r.Timeout * float64(time.Second)),
	}
	if x.id == "" {
		x.id = rand.Text()
	}
	if program != nil {
		x.kind = program.rules.kind
		if x.timeout <= 0 {
			x.timeout = program.settings().Timeout
		}
	} else {
		x.kind = impliedKind(operation)
	}
	x.ctx, x.cancel = context.WithCancelCause(u.life)
	begun, fresh, err := u.ledger.begin(x, r)
	if err != nil || !fresh {
		x.cancel(nil)
		return begun, err
	}
	u.tasks.Go(func() { u.carry(x) }) //nolint:contextcheck // an execution outlives the call that began it
	return begun, nil
}

// impliedKind is the kind of an operation that has no program.
func impliedKind(operation string) wire.OperationKind {
	if bare(operation) == "stop" {
		return wire.OperationStop
	}
	return wire.OperationRun
}

// undeclared refuses inputs that the operation does not declare: whoever may
// execute must not set LD_PRELOAD.
func undeclared(component, operation string, p *program, inputs map[string]string) error {
	var declared []string
	if p != nil {
		declared = slices.Collect(maps.Keys(p.settings().Inputs))
		declared = slices.AppendSeq(declared, maps.Keys(p.settings().SecretInputs))
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

// environment gives the secret variables of an execution, which only the
// configuration names, and its INPUT_ variables: what was asked for, else what
// is configured, else what the secret's file holds now.
func (x *execution) environment() ([]string, error) {
	if x.program == nil {
		return nil, nil
	}
	configured := x.program.settings()
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

// Execution gives an execution by its id; fault NoExecution.
func (u *Unit) Execution(id string) (wire.Execution, error) {
	x, ok := u.ledger.execution(id)
	if !ok {
		return wire.Execution{}, noExecution(id)
	}
	return x, nil
}

func noExecution(id string) error {
	return wire.NewFault(wire.NoExecution, fmt.Sprintf("no execution has the id %q", id))
}

// Cancel ends an execution with all of its program's processes, by the stop
// signal, TERM, and KILL after the grace, and gives it as it ended. One that
// has ended already is given as it is.
func (u *Unit) Cancel(ctx context.Context, id string) (wire.Execution, error) {
	if x := u.ledger.lookup(id); x != nil {
		x.cancel(errCancelled)
		select {
		case <-x.done:
		case <-ctx.Done():
			return wire.Execution{}, ctx.Err()
		}
	}
	return u.Execution(id)
}
