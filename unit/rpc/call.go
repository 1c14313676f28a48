package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/toskose/toskose/unit/wire"
)

// serveRPC answers one methodCall.
func (s *server) serveRPC(a *answer, r *http.Request) error {
	body, err := s.readBody(a, r)
	if err != nil {
		return err
	}
	c, err := decodeCall(body, s.limits)
	if err != nil {
		return statusErrorf(http.StatusBadRequest, "%w", err)
	}
	var text []byte
	value, err := s.dispatch(r.Context(), c)
	if err == nil {
		text, err = encodeAnswer(value)
	}
	if err != nil {
		f := s.faultOf(c.method, err)
		text = encodeFault(f)
	}
	a.Header().Set("Content-Type", "text/xml")
	a.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, err = a.Write(text)
	if err != nil {
		s.logger.Debug("answer not delivered", "method", c.method, "error", err)
	}
	return nil
}

// readBody reads a body of known length, which Supervisor requires.
func (s *server) readBody(a *answer, r *http.Request) ([]byte, error) {
	if r.Header.Get("Content-Length") == "" || r.ContentLength < 0 {
		return nil, statusErrorf(http.StatusLengthRequired, "a Content-Length is needed")
	}
	if r.ContentLength > s.limits.RequestBytes {
		return nil, statusErrorf(http.StatusRequestEntityTooLarge, "a request has at most %d bytes", s.limits.RequestBytes)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, s.limits.RequestBytes))
	if err != nil {
		return nil, statusErrorf(http.StatusBadRequest, "cannot read the request: %w", err)
	}
	_ = a.control.SetReadDeadline(time.Time{})
	return body, nil
}

// dispatch finds the method, checks the parameters, and calls it.
func (s *server) dispatch(ctx context.Context, c call) (any, error) {
	m, known := s.methods[c.method]
	if !known {
		return nil, wire.NewFault(wire.UnknownMethod, clip(c.method))
	}
	a, err := m.check(c.params)
	if err != nil {
		return nil, err
	}
	if !m.always && s.state() < wire.DaemonRunning {
		return nil, wire.NewFault(wire.ShutdownState, "")
	}
	s.logger.Debug("call", "method", c.method)
	return m.do(ctx, a)
}

// fault is the struct that XML-RPC returns instead of a value.
type fault struct {
	Code int    `json:"faultCode"`
	Text string `json:"faultString"`
}

// faultOf converts any error to a fault. An error without a fault is also logged, since its cause
// is probably the unit's environment and not the client.
func (s *server) faultOf(method string, err error) fault {
	var f *wire.Fault
	switch {
	case errors.As(err, &f):
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		f = &wire.Fault{Code: wire.Failed, Detail: "the wait was interrupted; the action continues"}
	default:
		s.logger.Warn("call failed", "method", method, "error", err)
		f = &wire.Fault{Code: wire.Failed, Detail: err.Error()}
	}
	return fault{Code: int(f.Code), Text: f.Error()}
}

// rawXML is an encoded value.
type rawXML []byte

var rawXMLType = reflect.TypeFor[rawXML]()

// multicall makes calls one after the other and returns their bare values, as Supervisor does
// (other servers return each in an array). Once the results exceed the limit, the remaining calls
// are not made.
func (s *server) multicall(ctx context.Context, calls []any) ([]rawXML, error) {
	answers := make([]rawXML, 0, len(calls))
	var size int64
	for _, one := range calls {
		var b bytes.Buffer
		value, err := s.nested(ctx, one, size)
		if err == nil {
			err = encodeValue(&b, reflect.ValueOf(value))
		}
		if err != nil {
			b.Reset()
			if err := encodeValue(&b, reflect.ValueOf(s.faultOf("system.multicall", err))); err != nil {
				return nil, err
			}
		}
		size += int64(b.Len())
		answers = append(answers, b.Bytes())
	}
	return answers, nil
}

func (s *server) nested(ctx context.Context, one any, size int64) (any, error) {
	if size > s.limits.AnswerBytes {
		return nil, wire.NewFault(wire.Failed, fmt.Sprintf(
			"not called: the results of the previous calls have more than %d bytes", s.limits.AnswerBytes))
	}
	members, ok := one.(map[string]any)
	if !ok {
		return nil, wire.NewFault(wire.IncorrectParameters, "a call is a struct")
	}
	name, ok := members["methodName"].(string)
	if !ok {
		return nil, wire.NewFault(wire.IncorrectParameters, "No methodName")
	}
	if name == "system.multicall" {
		return nil, wire.NewFault(wire.IncorrectParameters, "Recursive system.multicall forbidden")
	}
	params, ok := members["params"].([]any)
	if !ok && members["params"] != nil {
		return nil, wire.NewFault(wire.IncorrectParameters, "params is an array")
	}
	return s.dispatch(ctx, call{method: name, params: params})
}
