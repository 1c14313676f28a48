package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// LogQuery selects log lines.
type LogQuery struct {
	Of      []string // nodes, components and operations, as NODE/COMPONENT/OPERATION or a part of it; none: all
	Replica string   // address or instance; empty: all
	Stream  string   // stdout or stderr; empty: both
	Since   time.Time
	Until   time.Time
	Match   string // a regular expression
	Tail    int    // the last of these lines; negative: all
}

func (q LogQuery) values() url.Values {
	v := url.Values{}
	for _, name := range q.Of {
		v.Add("of", name)
	}
	for name, value := range map[string]string{"replica": q.Replica, "stream": q.Stream, "match": q.Match} {
		if value != "" {
			v.Set(name, value)
		}
	}
	for name, at := range map[string]time.Time{"since": q.Since, "until": q.Until} {
		if !at.IsZero() {
			v.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	if q.Tail >= 0 {
		v.Set("tail", strconv.Itoa(q.Tail))
	}
	return v
}

// The kinds of log lines that no operation printed.
const (
	LogLost   = "lost"   // lines were deleted before they were read
	LogSilent = "silent" // a unit is unresponsive
	LogLive   = "live"   // the following lines are new
)

// LogLine is a line that an operation printed, or a notice about lines.
type LogLine struct {
	Kind      string    `json:"kind,omitempty"` // empty: a line
	Time      time.Time `json:"time"`
	Node      string    `json:"node,omitempty"`
	Replica   string    `json:"replica,omitempty"`
	Component string    `json:"component,omitempty"`
	Operation string    `json:"operation,omitempty"`
	Stream    string    `json:"stream,omitempty"`
	Line      string    `json:"line"`
	Base64    []byte    `json:"base64,omitempty"` // instead of the text if it is not UTF-8
	Partial   bool      `json:"partial,omitempty"`
	Bytes     int64     `json:"bytes,omitempty"` // lost bytes
	Why       string    `json:"why,omitempty"`
}

// Text returns the line as it was printed.
func (l LogLine) Text() string {
	if l.Base64 != nil {
		return string(l.Base64)
	}
	return l.Line
}

// Logs calls each for every existing line.
func (c *Client) Logs(ctx context.Context, q LogQuery, each func(LogLine) error) error {
	values := q.values()
	values.Set("limit", strconv.Itoa(max(q.Tail, 1000)))
	for {
		var page struct {
			Lines []LogLine `json:"lines"`
			Notes []LogLine `json:"notes"`
			Next  string    `json:"next"`
		}
		if _, err := c.do(ctx, request{method: http.MethodGet, path: "/api/v1/logs", query: values}, &page); err != nil {
			return err
		}
		for _, line := range append(page.Notes, page.Lines...) {
			if err := each(line); err != nil {
				return err
			}
		}
		if len(page.Lines) == 0 || q.Tail >= 0 {
			return nil
		}
		values.Set("after", page.Next)
	}
}

// FollowLogs is Logs, but waits for further lines until each returns an error or ctx ends; it returns that error.
// When the manager stops responding, FollowLogs calls lost and reconnects until it succeeds. It delivers every
// line exactly once.
func (c *Client) FollowLogs(ctx context.Context, q LogQuery, each func(LogLine) error, lost func(error)) error {
	values := q.values()
	values.Set("follow", "true")
	return c.listen(ctx, request{method: http.MethodGet, path: "/api/v1/logs", query: values}, "", func(m message) error {
		var line LogLine
		if err := json.Unmarshal([]byte(m.data), &line); err != nil {
			return fmt.Errorf("what answers at %s is no manager: %w", c.opts.Address, err)
		}
		return each(line)
	}, lost)
}
