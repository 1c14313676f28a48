package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/toskose/toskose/manager"
)

// Limits of a request's body.
const (
	maxBody  = 256 << 10
	bodyTime = 10 * time.Second
)

// runBody is the body of a request to run an operation; it may be missing.
type runBody struct {
	Inputs  map[string]any `json:"inputs"`  // strings, numbers and booleans
	Timeout float64        `json:"timeout"` // seconds; 0: the operation's own limit, or none
}

// runRequest reads a request to run an operation. The body is JSON whatever its
// media type: curl calls it a form by default.
func runRequest(r *http.Request) (manager.RunRequest, error) {
	user, _, _ := r.BasicAuth()
	req := manager.RunRequest{
		Node: param(r, "node"), Component: param(r, "component"), Operation: param(r, "operation"),
		Replica: replicaOf(r), By: user,
	}
	var err error
	if req.Force, err = flag(r, "force"); err != nil {
		return req, err
	}
	if req.Strict, err = flag(r, "strict"); err != nil {
		return req, err
	}
	body, err := readRun(r)
	if err != nil {
		return req, err
	}
	if math.IsNaN(body.Timeout) || body.Timeout < 0 || body.Timeout > 1e9 {
		return req, invalid("timeout is a number of seconds from 0 to a billion, not %v", body.Timeout)
	}
	req.Timeout = time.Duration(body.Timeout * float64(time.Second))
	if len(body.Inputs) > 0 {
		req.Inputs = make(map[string]string, len(body.Inputs))
	}
	for name, value := range body.Inputs {
		switch v := value.(type) {
		case string:
			req.Inputs[name] = v
		case json.Number, bool:
			req.Inputs[name] = fmt.Sprint(v)
		default:
			return req, invalid("the value of input %q is neither a string nor a number nor a boolean", name)
		}
	}
	return req, nil
}

func readRun(r *http.Request) (runBody, error) {
	var body runBody
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	decoder.UseNumber()
	err := decoder.Decode(&body)
	if errors.Is(err, io.EOF) {
		return body, nil // a missing body is an empty one
	}
	if err != nil {
		return body, invalid(`the body is not JSON like {"inputs": {"NAME": "value"}}: %v`, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return body, invalid("the body goes on after the JSON object")
	}
	return body, nil
}

// takesBody reads the body before the handler does: it refuses one that is too
// large, and closes the connection of one that is too slow.
func (s *server) takesBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connection := http.NewResponseController(w)
		_ = connection.SetReadDeadline(time.Now().Add(bodyTime))
		data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		_ = connection.SetReadDeadline(time.Time{})
		var tooLarge *http.MaxBytesError
		switch {
		case errors.As(err, &tooLarge):
			s.problem(w, r, fmt.Errorf("%w: a body has at most %d bytes", errTooLarge, maxBody))
		case err != nil:
			w.Header().Set("Connection", "close")
			s.problem(w, r, invalid("the body did not arrive: %v", err))
		default:
			r.Body = io.NopCloser(bytes.NewReader(data))
			next.ServeHTTP(w, r)
		}
	})
}

func invalid(format string, args ...any) error {
	return &manager.Error{Kind: manager.ErrInvalid, Detail: fmt.Sprintf(format, args...)}
}

// prefersAsync reports whether the client does not want to wait (RFC 7240, 4.1).
func prefersAsync(r *http.Request) bool {
	for _, line := range r.Header.Values("Prefer") {
		for preference := range strings.SplitSeq(line, ",") {
			name, _, _ := strings.Cut(preference, ";")
			if strings.EqualFold(strings.TrimSpace(name), "respond-async") {
				return true
			}
		}
	}
	return false
}
