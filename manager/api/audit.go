package api

import (
	"cmp"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/toskose/toskose/manager/access"
	"github.com/toskose/toskose/manager/users"
)

// auditLog is who did what, and who was not let: a line of JSON for each request that
// is more than a read that was allowed. It has no bodies, queries, passwords or tokens.
type auditLog struct {
	mu     sync.Mutex
	out    io.Writer
	logger *slog.Logger
}

// auditLine is one line.
type auditLine struct {
	Time      time.Time     `json:"time"`
	Request   string        `json:"request"`        // its id
	User      string        `json:"user,omitempty"` // who exists; who was not let in may only say so
	Role      users.Role    `json:"role,omitempty"`
	By        access.Method `json:"by,omitempty"` // how the user was known; none: was not let in
	Address   string        `json:"address"`
	Client    string        `json:"client,omitempty"` // as it calls itself
	Method    string        `json:"method"`
	Route     string        `json:"route"`
	Node      string        `json:"node,omitempty"`
	Component string        `json:"component,omitempty"`
	Operation string        `json:"operation,omitempty"`
	Execution string        `json:"execution,omitempty"`
	Status    int           `json:"status"` // 0: the client went away before it was answered
	Seconds   float64       `json:"seconds"`
}

func newAuditLog(out io.Writer, logger *slog.Logger) *auditLog {
	if out == nil {
		out = io.Discard
	}
	return &auditLog{out: out, logger: logger}
}

// note writes the line of a request, if it has one.
func (l *auditLog) note(r *http.Request, answer *statusWriter, begun time.Time) {
	route := chi.RouteContext(r.Context()).RoutePattern()
	status := answer.status
	if !answer.wrote && r.Context().Err() != nil {
		status = 0
	}
	refused := status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusTooManyRequests
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions
	known := requestOf(r)
	if !refused && (reads || known.caller.Method == "") {
		return
	}
	execution, _ := strings.CutPrefix(answer.Header().Get("Location"), "/api/v1/executions/")
	l.write(auditLine{
		Time: begun.UTC(), Request: known.id, User: known.caller.Name, Role: known.caller.Role, By: known.caller.Method,
		Address: addressOf(r), Client: short(r.UserAgent()), Method: short(r.Method), Route: route,
		Node: short(param(r, "node")), Component: short(cmp.Or(param(r, "component"), param(r, "task"))), Operation: short(param(r, "operation")),
		Execution: execution, Status: status, Seconds: time.Since(begun).Seconds(),
	})
}

func (l *auditLog) write(line auditLine) {
	text, err := json.Marshal(line)
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		_, err = l.out.Write(append(text, '\n'))
	}
	if err != nil {
		l.logger.Error("cannot write the audit log", "request", line.Request, "error", err)
	}
}

// short bounds what clients choose.
func short(text string) string {
	const most = 200
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
