package api

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/idempotency"
)

// runBody is the body of a request to run an operation; it may be missing.
type runBody struct {
	ID      string         `json:"id"`      // the same id is the same execution
	Inputs  map[string]any `json:"inputs"`  // strings, numbers and booleans
	Timeout float64        `json:"timeout"` // seconds; 0: the operation's own limit, or none
}

// runRequest reads a request to run an operation.
func runRequest(r *http.Request) (manager.RunRequest, error) {
	req := manager.RunRequest{
		Node: param(r, "node"), Component: param(r, "component"), Operation: param(r, "operation"),
		Replica: replicaOf(r), By: callerOf(r).Name,
	}
	var err error
	if req.Force, err = flag(r, "force"); err != nil {
		return req, err
	}
	if req.Strict, err = flag(r, "strict"); err != nil {
		return req, err
	}
	if req.MaxUnavailable, err = maxUnavailable(r); err != nil {
		return req, err
	}
	var body runBody
	if err := decode(r, &body, `{"inputs": {"NAME": "value"}}`); err != nil {
		return req, err
	}
	if math.IsNaN(body.Timeout) || body.Timeout < 0 || body.Timeout > 1e9 {
		return req, invalid("timeout is a number of seconds from 0 to a billion, not %v", body.Timeout)
	}
	req.ID = body.ID
	if req.Key, err = idempotency.Key(r); err != nil {
		return req, err
	}
	req.Timeout = time.Duration(body.Timeout * float64(time.Second))
	req.Inputs, err = inputsOf(body)
	return req, err
}

// inputsOf returns the inputs in the form that operations receive, or nil.
func inputsOf(body runBody) (map[string]string, error) {
	if len(body.Inputs) == 0 {
		return nil, nil
	}
	inputs := make(map[string]string, len(body.Inputs))
	for name, value := range body.Inputs {
		switch v := value.(type) {
		case string:
			inputs[name] = v
		case json.Number, bool:
			inputs[name] = fmt.Sprint(v)
		default:
			return nil, invalid("the value of input %q is neither a string nor a number nor a boolean", name)
		}
	}
	return inputs, nil
}

// maxUnavailable reads the maximum number of replicas on which an operation may run at the same time.
func maxUnavailable(r *http.Request) (int, error) {
	text := r.URL.Query().Get("max_unavailable")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, invalid("max_unavailable is a number of replicas from 1 on, not %q", text)
	}
	return n, nil
}

// prefers reads whether, and for how long, the client wants to wait (RFC 7240, 4.1 and 4.3).
func prefers(r *http.Request) (wait time.Duration, async bool) {
	for _, line := range r.Header.Values("Prefer") {
		for preference := range strings.SplitSeq(line, ",") {
			token, _, _ := strings.Cut(preference, ";")
			name, value, _ := strings.Cut(token, "=")
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "respond-async":
				async = true
			case "wait":
				if seconds, err := strconv.Atoi(strings.TrimSpace(value)); err == nil && seconds > 0 {
					wait = time.Duration(min(seconds, maxPreferred)) * time.Second
				}
			}
		}
	}
	return wait, async
}

// maxPreferred is the longest wait in seconds that a client can prefer.
const maxPreferred = 3600
