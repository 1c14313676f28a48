package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/toskose/toskose/manager/rest"
)

func logValues(q LogQuery) url.Values {
	v := url.Values{}
	for _, name := range q.Of {
		v.Add("of", name)
	}
	for name, value := range map[string]string{"replica": q.Replica, "stream": string(q.Stream), "text": q.Text, "match": q.Match} {
		if value != "" {
			v.Set(name, value)
		}
	}
	for name, at := range map[string]time.Time{"since": q.Since, "until": q.Until} {
		if !at.IsZero() {
			v.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	if q.Tail != nil {
		v.Set("tail", strconv.Itoa(*q.Tail))
	}
	return v
}

// Logs calls each for every existing line.
func (c *Client) Logs(ctx context.Context, q LogQuery, each func(LogLine) error) error {
	values := logValues(q)
	limit := 1000
	if q.Tail != nil {
		limit = max(limit, *q.Tail)
	}
	values.Set("limit", strconv.Itoa(limit))
	for {
		var page rest.LogPage
		if _, err := c.do(ctx, request{method: http.MethodGet, path: "/api/v1/logs", query: values}, &page); err != nil {
			return err
		}
		for _, line := range append(page.Notes, page.Lines...) {
			if err := each(line); err != nil {
				return err
			}
		}
		if len(page.Lines) == 0 || q.Tail != nil {
			return nil
		}
		values.Set("after", page.Next)
	}
}

// FollowLogs is Logs, but waits for further lines until each returns an error or ctx ends; it returns that error.
// When the manager stops responding, FollowLogs calls lost and reconnects until it succeeds. It delivers every
// line exactly once.
func (c *Client) FollowLogs(ctx context.Context, q LogQuery, each func(LogLine) error, lost func(error)) error {
	values := logValues(q)
	values.Set("follow", "true")
	return c.listen(ctx, request{method: http.MethodGet, path: "/api/v1/logs", query: values}, "", func(m message) error {
		var line LogLine
		if err := json.Unmarshal([]byte(m.data), &line); err != nil {
			return fmt.Errorf("what answers at %s is no manager: %w", c.opts.Address, err)
		}
		return each(line)
	}, lost)
}
