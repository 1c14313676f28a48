package api

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/toskose/toskose/manager/access"
	"github.com/toskose/toskose/manager/rest"
)

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
	{rest.ErrUnknownNode, http.StatusNotFound, "unknown-node"},
	{rest.ErrUnknownComponent, http.StatusNotFound, "unknown-component"},
	{rest.ErrUnknownOperation, http.StatusNotFound, "unknown-operation"},
	{rest.ErrUnknownReplica, http.StatusNotFound, "unknown-replica"},
	{rest.ErrUnknownExecution, http.StatusNotFound, "unknown-execution"},
	{rest.ErrNoLog, http.StatusNotFound, "no-log"},
	{errMethod, http.StatusMethodNotAllowed, "method-not-allowed"},
	{rest.ErrAmbiguous, http.StatusConflict, "ambiguous-operation"},
	{rest.ErrStandalone, http.StatusConflict, "standalone-node"},
	{rest.ErrJob, http.StatusConflict, "job-node"},
	{rest.ErrNotAllowed, http.StatusConflict, "not-allowed"},
	{rest.ErrUnmet, http.StatusConflict, "requirement-not-met"},
	{rest.ErrTakesAway, http.StatusConflict, "required-by-others"},
	{rest.ErrOutdated, http.StatusConflict, "outdated"},
	{rest.ErrBusy, http.StatusConflict, "already-running"},
	{rest.ErrNotRunning, http.StatusConflict, "not-running"},
	{errIncomplete, http.StatusRequestTimeout, "incomplete"},
	{errTooLarge, http.StatusRequestEntityTooLarge, "too-large"},
	{rest.ErrReused, http.StatusUnprocessableEntity, "id-reused"},
	{rest.ErrInvalid, http.StatusUnprocessableEntity, "invalid-request"},
	{rest.ErrNotImplemented, http.StatusNotImplemented, "not-implemented"},
	{rest.ErrFailed, http.StatusBadGateway, "operation-failed"},
	{rest.ErrBadAnswer, http.StatusBadGateway, "bad-answer"},
	{rest.ErrUnreachable, http.StatusServiceUnavailable, "unreachable"},
	{rest.ErrUnavailable, http.StatusServiceUnavailable, "unavailable"},
	{errNotReady, http.StatusServiceUnavailable, "not-ready"},
	{rest.ErrTimeLimit, http.StatusGatewayTimeout, "time-limit"},
	{errInternal, http.StatusInternalServerError, "internal"},
}

// invalid returns an error for an invalid request, with its cause.
func invalid(format string, args ...any) error {
	return &rest.Error{Kind: rest.ErrInvalid, Detail: fmt.Sprintf(format, args...)}
}

// problemType is the prefix of every problem's type.
const problemType = "urn:toskose:problem:"

func problemOf(err error) *rest.Problem {
	found := problemKinds[len(problemKinds)-1]
	for _, k := range problemKinds {
		if errors.Is(err, k.kind) {
			found = k
			break
		}
	}
	p := &rest.Problem{
		Type: problemType + found.name, Title: found.kind.Error(), Status: found.status, Detail: err.Error(),
	}
	var silent notReadyError
	if errors.As(err, &silent) {
		p.Nodes = silent
	}
	var e *rest.Error
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
