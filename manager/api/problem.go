package api

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/toskose/toskose/manager/access"
	"github.com/toskose/toskose/manager/outcome"
	"github.com/toskose/toskose/unit/wire"
)

// Problem is a problem document (RFC 9457) with extensions. Type is stable:
// clients may rely on it.
type Problem struct {
	Type       string         `json:"type"`
	Title      string         `json:"title"`
	Status     int            `json:"status"`
	Detail     string         `json:"detail"`
	Instance   string         `json:"instance,omitempty"` // the path of the request
	Request    string         `json:"request,omitempty"`  // its id, as in the logs
	Suggestion string         `json:"suggestion,omitempty"`
	Candidates []string       `json:"candidates,omitempty"`
	State      string         `json:"state,omitempty"`
	Allowed    []string       `json:"allowed,omitzero"`
	Lacks      []outcome.Lack `json:"lacks,omitempty"`
	Execution  string         `json:"execution,omitempty"` // its id
	Outcome    wire.Outcome   `json:"outcome,omitempty"`
	wire.Exit
	wire.Output                  // of the worst run
	Runs        []outcome.Run    `json:"runs,omitempty"`
	Results     []outcome.Result `json:"results,omitempty"`
	Nodes       []string         `json:"nodes,omitempty"` // that are not ready
}

// notReadyError names the nodes that have no responding unit.
type notReadyError []string

func (e notReadyError) Error() string { return "no unit answers on " + strings.Join(e, ", ") }

func (e notReadyError) Unwrap() error { return errNotReady }

var errNotAsWanted = fmt.Errorf("%w: it is not as its goal says, or has none", errNotReady)

// problemKind is the response to errors of one kind.
type problemKind struct {
	kind   error
	status int
	name   string
}

var (
	errForbidden         = errors.New("the user's role does not allow this")
	errTokenForToken     = errors.New("neither a token nor a session makes a token")
	errSessionForSession = errors.New("a session makes no other session")
	errNoRoute           = errors.New("there is nothing here")
	errMethod            = errors.New("method not allowed")
	errForeign           = errors.New("request from another site")
	errNotReady          = errors.New("not ready")
	errInternal          = errors.New("internal error")
	errTooLarge          = errors.New("too large")
	errIncomplete        = errors.New("the body did not arrive")
)

var problemKinds = []problemKind{
	{access.ErrDenied, http.StatusUnauthorized, "unauthorized"},
	{access.ErrEnded, http.StatusUnauthorized, "unauthorized"},
	{access.ErrOften, http.StatusTooManyRequests, "too-many-logins"},
	{errForbidden, http.StatusForbidden, "forbidden"},
	{errTokenForToken, http.StatusForbidden, "forbidden"},
	{errSessionForSession, http.StatusForbidden, "forbidden"},
	{errForeign, http.StatusForbidden, "cross-origin"},
	{errNoRoute, http.StatusNotFound, "no-such-path"},
	{outcome.ErrUnknownNode, http.StatusNotFound, "unknown-node"},
	{outcome.ErrUnknownComponent, http.StatusNotFound, "unknown-component"},
	{outcome.ErrUnknownOperation, http.StatusNotFound, "unknown-operation"},
	{outcome.ErrUnknownReplica, http.StatusNotFound, "unknown-replica"},
	{outcome.ErrUnknownExecution, http.StatusNotFound, "unknown-execution"},
	{outcome.ErrNoLog, http.StatusNotFound, "no-log"},
	{errMethod, http.StatusMethodNotAllowed, "method-not-allowed"},
	{outcome.ErrAmbiguous, http.StatusConflict, "ambiguous-operation"},
	{outcome.ErrStandalone, http.StatusConflict, "standalone-node"},
	{outcome.ErrJob, http.StatusConflict, "job-node"},
	{outcome.ErrNotAllowed, http.StatusConflict, "not-allowed"},
	{outcome.ErrUnmet, http.StatusConflict, "requirement-not-met"},
	{outcome.ErrTakesAway, http.StatusConflict, "required-by-others"},
	{outcome.ErrOutdated, http.StatusConflict, "outdated"},
	{outcome.ErrBusy, http.StatusConflict, "already-running"},
	{outcome.ErrNotRunning, http.StatusConflict, "not-running"},
	{errIncomplete, http.StatusRequestTimeout, "incomplete"},
	{errTooLarge, http.StatusRequestEntityTooLarge, "too-large"},
	{outcome.ErrReused, http.StatusUnprocessableEntity, "id-reused"},
	{outcome.ErrInvalid, http.StatusUnprocessableEntity, "invalid-request"},
	{outcome.ErrNotImplemented, http.StatusNotImplemented, "not-implemented"},
	{outcome.ErrFailed, http.StatusBadGateway, "operation-failed"},
	{outcome.ErrBadAnswer, http.StatusBadGateway, "bad-answer"},
	{outcome.ErrUnreachable, http.StatusServiceUnavailable, "unreachable"},
	{outcome.ErrUnavailable, http.StatusServiceUnavailable, "unavailable"},
	{errNotReady, http.StatusServiceUnavailable, "not-ready"},
	{outcome.ErrTimeLimit, http.StatusGatewayTimeout, "time-limit"},
	{errInternal, http.StatusInternalServerError, "internal"},
}

// invalid returns an error for an invalid request, with its cause.
func invalid(format string, args ...any) error {
	return &outcome.Error{Kind: outcome.ErrInvalid, Detail: fmt.Sprintf(format, args...)}
}

// problemType is the prefix of every problem's type.
const problemType = "urn:toskose:problem:"

func problemOf(err error) *Problem {
	found := problemKinds[len(problemKinds)-1]
	for _, k := range problemKinds {
		if errors.Is(err, k.kind) {
			found = k
			break
		}
	}
	p := &Problem{
		Type: problemType + found.name, Title: found.kind.Error(), Status: found.status, Detail: err.Error(),
	}
	var silent notReadyError
	if errors.As(err, &silent) {
		p.Nodes = silent
	}
	var e *outcome.Error
	if !errors.As(err, &e) {
		return p
	}
	p.Suggestion, p.Candidates, p.State, p.Allowed, p.Lacks, p.Results = e.Suggestion, e.Candidates, e.State, e.Allowed, e.Lacks, e.Results
	if e.Execution == nil {
		return p
	}
	p.Execution, p.Outcome, p.Runs = e.Execution.ID, e.Execution.Outcome, e.Execution.Runs
	if worst := e.Execution.Worst(); worst != nil {
		p.Exit, p.Output = worst.Exit, worst.Output
	}
	return p
}
