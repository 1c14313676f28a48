package rest

import (
	"errors"
	"slices"

	"github.com/toskose/toskose/manager/unitclient"
	"github.com/toskose/toskose/unit/wire"
)

// The kinds of errors. Each is in the chain of an *Error.
var (
	ErrUnknownNode      = errors.New("unknown node")
	ErrUnknownComponent = errors.New("unknown component")
	ErrUnknownOperation = errors.New("unknown operation")
	ErrUnknownReplica   = errors.New("unknown replica")
	ErrUnknownExecution = errors.New("unknown execution")
	ErrNoLog            = errors.New("no log")              // the log does not exist
	ErrAmbiguous        = errors.New("ambiguous name")      // several interfaces have the operation
	ErrStandalone       = errors.New("standalone node")     // it has no unit
	ErrJob              = errors.New("job node")            // the orchestrator runs it, not the manager
	ErrNotAllowed       = errors.New("not allowed now")     // by the protocol, in the component's state
	ErrUnmet            = errors.New("requirement not met") // the operation has unmet requirements
	ErrOutdated         = errors.New("outdated")            // the replica is of another version of the application
	ErrTakesAway        = errors.New("others require it")   // the operation withdraws a capability, and the caller is strict
	ErrBusy             = errors.New("already running")     // another operation of the component is running
	ErrNotBegun         = errors.New("not begun")           // because it failed on another replica
	ErrNotRunning       = errors.New("not running")         // nothing to stop or to signal
	ErrInvalid          = errors.New("invalid request")     // an undeclared input, a bad signal or range
	ErrReused           = errors.New("used before")         // the id or key belongs to another request
	ErrFailed           = errors.New("operation failed")    // it ran and failed
	ErrBadAnswer        = errors.New("bad answer")          // a unit's response is invalid, or it refused the manager
	ErrUnreachable      = errors.New("unreachable")         // no container, or its unit is unresponsive
	ErrUnavailable      = errors.New("unavailable")         // the unit, or the manager, is shutting down or cannot write
	ErrTimeLimit        = errors.New("time limit passed")
	ErrNotImplemented   = errors.New("not implemented") // the unit has no such method
)

// Error is the error of a request.
type Error struct {
	Kind       error
	Detail     string     // a sentence that names the subject
	Suggestion string     // the most similar name
	Candidates []string   // possible meanings of an ambiguous or unknown name
	State      string     // of the component, if the kind is about it
	Allowed    []string   // the operations that its protocol allows in State
	Lacks      []Lack     // unmet requirements
	Execution  *Execution // the execution, if one was started
	Results    []Result   // the outcome of each replica

	Cause error
}

func (e *Error) Error() string {
	if e.Suggestion != "" {
		return e.Detail + `; did you mean "` + e.Suggestion + `"?`
	}
	return e.Detail
}

// Unwrap returns the kind and the cause.
func (e *Error) Unwrap() []error { return []error{e.Kind, e.Cause} }

// severity orders the kinds of errors of replicas, the most severe last.
var severity = []error{
	ErrNotBegun, ErrNotRunning, ErrNoLog, ErrBusy, ErrNotAllowed, ErrReused, ErrInvalid, ErrNotImplemented,
	ErrBadAnswer, ErrFailed, ErrUnavailable, ErrUnreachable, ErrTimeLimit,
}

// Rank returns the severity of an error; -1 for nil.
func Rank(err error) int {
	if err == nil {
		return -1
	}
	i := slices.IndexFunc(severity, func(kind error) bool { return errors.Is(err, kind) })
	if i < 0 {
		return len(severity)
	}
	return i
}

// Of turns the error of a request to a unit into an *Error. The subject starts the sentence.
func Of(subject string, err error) *Error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	kind := ErrBadAnswer
	if code, isFault := wire.FaultCodeOf(err); isFault {
		kind = faultKind(code)
	} else if errors.Is(err, unitclient.ErrUnreachable) {
		kind = ErrUnreachable
	}
	return &Error{Kind: kind, Detail: subject + ": " + err.Error(), Cause: err}
}

func faultKind(code wire.FaultCode) error {
	switch code {
	case wire.NotAllowed:
		return ErrNotAllowed
	case wire.Busy, wire.AlreadyStarted, wire.NewerEntry:
		return ErrBusy
	case wire.NotRunning:
		return ErrNotRunning
	case wire.NoFile:
		return ErrNoLog
	case wire.UndeclaredInput, wire.BadSignal:
		return ErrInvalid
	case wire.OtherExecution:
		return ErrReused
	case wire.NoExecution:
		return ErrUnknownExecution
	case wire.OtherInstance:
		return ErrUnknownReplica
	case wire.CantReread:
		return ErrFailed
	case wire.UnknownMethod:
		return ErrNotImplemented
	case wire.ShutdownState, wire.JournalUnavailable:
		return ErrUnavailable
	default:
		// The unit does not know a name of the model, or the call was invalid: unit and manager belong to different
		// applications or versions.
		return ErrBadAnswer
	}
}
