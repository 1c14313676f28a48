package rpc

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/toskose/toskose/unit/wire"
)

// faultStatus maps faults to HTTP statuses; others get 503.
var faultStatus = map[wire.FaultCode]int{
	wire.BadArguments:    http.StatusBadRequest,
	wire.BadName:         http.StatusNotFound,
	wire.NoFile:          http.StatusNotFound,
	wire.NoExecution:     http.StatusNotFound,
	wire.NotAllowed:      http.StatusConflict,
	wire.Busy:            http.StatusConflict,
	wire.NewerEntry:      http.StatusConflict,
	wire.OtherExecution:  http.StatusConflict,
	wire.OtherInstance:   http.StatusPreconditionFailed,
	wire.UndeclaredInput: http.StatusUnprocessableEntity,
	wire.NoDocument:      http.StatusNotFound,
	wire.OldRevision:     http.StatusConflict,
	wire.NoDocuments:     http.StatusNotImplemented,
	wire.NoStorage:       http.StatusInsufficientStorage,
}

// problemOf returns the problem document for an error. Errors that the client did not cause get
// status 503; status 500 is never caused by a request.
func problemOf(err error) wire.Problem {
	p := wire.Problem{Status: http.StatusServiceUnavailable, Detail: err.Error()}
	var fault *wire.Fault
	if errors.As(err, &fault) {
		p.Code, p.UnitInstance, p.Component, p.Revision = fault.Code.String(), fault.Instance, fault.Component, fault.Revision
		if status := faultStatus[fault.Code]; status != 0 {
			p.Status = status
		}
		switch {
		case fault.Code == wire.ShutdownState:
			p.Detail = "the unit is shutting down"
		case fault.Detail != "":
			p.Detail = fault.Detail
		}
	}
	var refused *statusError
	if errors.As(err, &refused) {
		p.Status = refused.status
	}
	p.Title = http.StatusText(p.Status)
	if p.Code == "" {
		p.Code = strings.ToUpper(strings.ReplaceAll(p.Title, " ", "_"))
	}
	return p
}

// fail writes a problem as JSON.
func (a *answer) fail(p wire.Problem) {
	text, err := json.Marshal(p)
	if err != nil { // strings and numbers can always be encoded
		panic(err)
	}
	a.refusal(p.Status, wire.ProblemType, append(text, '\n'))
}

// failPlainly writes an error as Supervisor does.
func (a *answer) failPlainly(status int, text string) {
	a.refusal(status, "text/plain; charset=utf-8", []byte(text+"\n"))
}

// refusal writes an error and closes the connection.
func (a *answer) refusal(status int, kind string, text []byte) {
	a.Header().Set("Connection", "close")
	a.Header().Set("Content-Type", kind)
	a.Header().Set("X-Content-Type-Options", "nosniff")
	a.WriteHeader(status)
	_, _ = a.Write(text)
}
