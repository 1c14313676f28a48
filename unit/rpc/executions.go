package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/toskose/toskose/internal/certs"
	"github.com/toskose/toskose/unit/wire"
)

// maxID bounds the length of an execution id, which becomes part of a path.
const maxID = 200

// postExecution begins an operation: 201, or 200 if the id was known.
func (h executionHandler) postExecution(a *answer, r *http.Request) error {
	request, err := h.executeRequest(a, r)
	if err != nil {
		return err
	}
	x, begun, err := h.unit.Execute(r.Context(), request)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if begun {
		status = http.StatusCreated
	}
	a.Header().Set("Location", "/executions/"+url.PathEscape(x.ID))
	return h.answerJSON(a, status, x)
}

func (s *server) executeRequest(a *answer, r *http.Request) (request wire.ExecuteRequest, err error) {
	if err := s.readJSON(a, r, "an execution", &request); err != nil {
		return request, err
	}
	return request, checkRequest(request)
}

// readJSON decodes a request and rejects unknown fields, which the client may rely on.
func (s *server) readJSON(a *answer, r *http.Request, what string, into any) error {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return statusErrorf(http.StatusUnsupportedMediaType, "the body must be application/json")
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, s.limits.RequestBytes+1))
	switch {
	case err != nil:
		return statusErrorf(http.StatusBadRequest, "cannot read the request: %w", err)
	case int64(len(text)) > s.limits.RequestBytes:
		return statusErrorf(http.StatusRequestEntityTooLarge, "a request has at most %d bytes", s.limits.RequestBytes)
	}
	_ = a.control.SetReadDeadline(time.Time{})
	if err = json.Unmarshal(text, into); err == nil { // Unmarshal rejects trailing data, unlike a Decoder
		strict := json.NewDecoder(bytes.NewReader(text))
		strict.DisallowUnknownFields()
		err = strict.Decode(into)
	}
	if err != nil {
		return statusErrorf(http.StatusBadRequest, "not the JSON of %s: %s", what, jsonProblem(err))
	}
	return nil
}

// jsonProblem describes a decoding error without Go's types.
func jsonProblem(err error) string {
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return fmt.Sprintf("%q cannot be this %s", mismatch.Field, mismatch.Value)
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

func checkRequest(r wire.ExecuteRequest) error {
	switch {
	case r.Component == "" || r.Operation == "":
		return statusErrorf(http.StatusBadRequest, "an execution needs a component and an operation")
	case len(r.ID) > maxID:
		return statusErrorf(http.StatusBadRequest, "an id has at most %d bytes", maxID)
	case r.Part != nil && (r.Part.Index < 0 || r.Part.Index >= wire.MaxIndexes):
		return statusErrorf(http.StatusBadRequest, "%d is not an index: a Task has %d at most, from 0 on", r.Part.Index, wire.MaxIndexes)
	case r.Timeout < 0 || r.Timeout > math.MaxInt64/float64(time.Second):
		return statusErrorf(http.StatusBadRequest, "%v is not a timeout in seconds", r.Timeout)
	}
	return nil
}

// getExecution returns an execution once it has ended or the wait is over.
func (h executionHandler) getExecution(a *answer, r *http.Request) error {
	wait, err := waitOf(r)
	if err != nil {
		return err
	}
	x, err := h.unit.Execution(r.Context(), executionID(r), wait)
	if err != nil {
		return err
	}
	return h.answerJSON(a, http.StatusOK, x)
}

// deleteExecution cancels an execution and returns it once it has ended.
func (h executionHandler) deleteExecution(a *answer, r *http.Request) error {
	x, err := h.unit.Cancel(r.Context(), executionID(r))
	if err != nil {
		return err
	}
	return h.answerJSON(a, http.StatusOK, x)
}

func executionID(r *http.Request) string { return strings.TrimPrefix(r.URL.Path, "/executions/") }

// getComponents returns the states of the components and, on request, their processes.
func (h componentHandler) getComponents(a *answer, r *http.Request) error {
	text := r.URL.Query().Get("processes")
	processes, err := strconv.ParseBool(text)
	if err != nil && text != "" {
		return statusErrorf(http.StatusBadRequest, "processes is neither true nor false: %q", clip(text))
	}
	snapshot, err := h.unit.Components(processes)
	if err != nil {
		return err
	}
	return h.answerJSON(a, http.StatusOK, snapshot)
}

func (h componentHandler) getInstance(a *answer, _ *http.Request) error {
	id := h.unit.Identity()
	id.Credentials = h.credentials()
	return h.answerJSON(a, http.StatusOK, id)
}

// credentials describes the current credentials for new connections.
func (s *server) credentials() *wire.Credentials {
	c := &wire.Credentials{Passwords: s.auth.countPasswords()}
	if s.tls != nil && s.tls.ClientCA != "" {
		if text, err := os.ReadFile(s.tls.ClientCA); err == nil { // otherwise the previous certificates, which are not known here, remain in use
			c.Authorities = certs.Fingerprints(text)
		}
	}
	return c
}

func (s *server) answerJSON(a *answer, status int, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	a.Header().Set("Content-Type", "application/json")
	a.Header().Set("Content-Length", strconv.Itoa(len(text)+1))
	a.WriteHeader(status)
	if _, err := a.Write(append(text, '\n')); err != nil {
		s.logger.Debug("answer not delivered", "error", err)
	}
	return nil
}
