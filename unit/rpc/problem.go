package rpc

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/toskose/toskose/unit/wire"
)

// faultStatus has the status of each fault over HTTP; 503 where it has none.
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

// problemOf returns what to answer instead of a value. What is not the client's
// doing is 503: nothing that a client sends causes a status of 500.
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

// fail answers a problem as JSON.
func (a *answer) fail(p wire.Problem) {
	text, err := json.Marshal(p)
	if err != nil { // strings and numbers always have a form
		panic(err)
	}
	a.refusal(p.Status, wire.ProblemType, append(text, '\n'))
}

// failPlainly answers an error as Supervisor does.
func (a *answer) failPlainly(status int, text string) {
	a.refusal(status, "text/plain; charset=utf-8", []byte(text+"\n"))
}

// refusal closes the connection, so that one who is refused holds none.
func (a *answer) refusal(status int, kind string, text []byte) {
	a.Header().Set("Connection", "close")
	a.Header().Set("Content-Type", kind)
	a.Header().Set("X-Content-Type-Options", "nosniff")
	a.WriteHeader(status)
	_, _ = a.Write(text)
}
