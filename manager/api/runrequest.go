package api

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/toskose/toskose/manager/idempotency"
	"github.com/toskose/toskose/manager/rest"
)

// runRequest reads a request to run an operation.
func runRequest(r *http.Request) (rest.RunRequest, error) {
	var req rest.RunRequest
	err := decode(r, &req, `{"inputs": {"NAME": "value"}}`)
	if err != nil {
		return req, err
	}
	if req.Timeout < 0 || req.Timeout > 1e9 {
		return req, invalid("timeout is a number of seconds from 0 to a billion, not %v", req.Timeout)
	}
	req.Node, req.Component, req.Operation = param(r, "node"), param(r, "component"), param(r, "operation")
	req.Replica, req.By = replicaOf(r), callerOf(r).Name
	if req.Force, err = flag(r, "force"); err != nil {
		return req, err
	}
	if req.Strict, err = flag(r, "strict"); err != nil {
		return req, err
	}
	if req.MaxUnavailable, err = maxUnavailable(r); err != nil {
		return req, err
	}
	req.Key, err = idempotency.Key(r)
	return req, err
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
