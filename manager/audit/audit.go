// Package audit writes the audit log: one line of JSON per request, except for permitted reads.
package audit

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/toskose/toskose/manager/access"
	"github.com/toskose/toskose/manager/users"
)

// Log is the audit log. It is safe for concurrent use.
type Log struct {
	mu     sync.Mutex
	out    io.Writer
	logger *slog.Logger
}

// Line is the entry of a request. It has no body, query, password or token.
type Line struct {
	Time      time.Time     `json:"time"`
	Request   string        `json:"request"`        // its id
	User      string        `json:"user,omitempty"` // an existing user; if refused, the claimed one
	Role      users.Role    `json:"role,omitempty"`
	By        access.Method `json:"by,omitempty"` // how the user authenticated; empty: refused
	Address   string        `json:"address"`
	Client    string        `json:"client,omitempty"` // its user agent
	Method    string        `json:"method"`
	Route     string        `json:"route"`
	Node      string        `json:"node,omitempty"`
	Component string        `json:"component,omitempty"`
	Operation string        `json:"operation,omitempty"`
	Execution string        `json:"execution,omitempty"`
	Status    int           `json:"status"` // 0: the client disconnected before the response
	Seconds   float64       `json:"seconds"`
}

// New returns a log that writes to out, or discards its lines if out is nil. It reports write errors to logger.
func New(out io.Writer, logger *slog.Logger) *Log {
	if out == nil {
		out = io.Discard
	}
	return &Log{out: out, logger: logger}
}

// Note writes the entry of a request, unless the request is a permitted read, or is unauthenticated and was not
// refused.
func (l *Log) Note(line Line) {
	refused := line.Status == http.StatusUnauthorized || line.Status == http.StatusForbidden || line.Status == http.StatusTooManyRequests
	reads := line.Method == http.MethodGet || line.Method == http.MethodHead || line.Method == http.MethodOptions
	if !refused && (reads || line.By == "") {
		return
	}
	for _, chosen := range []*string{&line.Client, &line.Method, &line.Node, &line.Component, &line.Operation} {
		*chosen = short(*chosen)
	}
	l.write(line, "request", line.Request)
}

// GoalLine is the entry of a change of the goal that no request made.
type GoalLine struct {
	Time     time.Time `json:"time"`
	Event    string    `json:"event"` // goal_rejected, goal_adopted or goal_resigned
	Node     string    `json:"node,omitempty"`
	Replica  string    `json:"replica,omitempty"`
	Instance string    `json:"instance,omitempty"`
	Revision string    `json:"revision"`
	Why      string    `json:"why"`
}

// NoteGoal writes an entry about the goal.
func (l *Log) NoteGoal(line GoalLine) {
	line.Why = short(line.Why)
	l.write(line, "event", line.Event)
}

// write writes a line in one call, so that several Logs can share a file.
func (l *Log) write(line any, about, value string) {
	text, err := json.Marshal(line)
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		_, err = l.out.Write(append(text, '\n'))
	}
	if err != nil {
		l.logger.Error("cannot write the audit log", about, value, "error", err)
	}
}

// short truncates text that clients choose.
func short(text string) string {
	const most = 200
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
