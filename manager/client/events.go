package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// errSilent says that a manager sent nothing for longer than it ever does.
var errSilent = errors.New("it has sent nothing for a while")

const (
	silence  = 45 * time.Second // a manager says three times in it that it is still there
	maxEvent = 4 << 20          // bytes of a line
)

// Events calls a function with what has happened after the event with an id, and
// returns when that is all; where the id is empty, with the states now. What is not
// known any more of the last 10,000 events is told by an event of the kind
// "missing", before the states.
func (c *Client) Events(ctx context.Context, after string, each func(Event) error) error {
	for {
		var page struct {
			Events []Event `json:"events"`
			Next   string  `json:"next"`
		}
		r := request{
			method: http.MethodGet, path: "/api/v1/events", query: url.Values{"limit": {"1000"}, "after": {after}},
			header: map[string]string{"Accept": "application/json"},
		}
		if _, err := c.do(ctx, r, &page); err != nil {
			return err
		}
		for _, e := range page.Events {
			if err := each(e); err != nil {
				return err
			}
		}
		if after = page.Next; len(page.Events) == 0 || after == "" {
			return nil
		}
	}
}

// Follow is Events, and goes on with what happens until the function or ctx ends;
// the error is theirs. When the manager does not answer any more, it says so by
// lost, and comes back until it does: nothing is told twice.
func (c *Client) Follow(ctx context.Context, after string, each func(Event) error, lost func(error)) error {
	for wait, known := time.Duration(0), false; ; wait = min(max(2*wait, 100*time.Millisecond), 5*time.Second) {
		begun, err := c.stream(ctx, &after, each)
		known = known || begun
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !known || !passing(err):
			return err
		case begun:
			wait = 0
		}
		lost(err)
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// stream reads events from one connection until it ends, and moves after on with
// each.
func (c *Client) stream(ctx context.Context, after *string, each func(Event) error) (begun bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alarm := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer alarm.Stop()
	r := request{method: http.MethodGet, path: "/api/v1/events", header: map[string]string{"Accept": "text/event-stream"}}
	if *after != "" {
		r.header["Last-Event-ID"] = *after
	}
	answer, err := c.send(ctx, r)
	if err != nil {
		return false, err
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, maxEvent)
	var id, data string
	for lines.Scan() {
		alarm.Reset(silence)
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case field == "id":
			id = value
		case field == "data":
			data = value
		case lines.Text() == "" && data != "":
			e := Event{ID: id}
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				return true, fmt.Errorf("what answers at %s is no manager: %w", c.address, err)
			}
			if err := each(e); err != nil {
				return true, err
			}
			*after, data = id, ""
		}
	}
	err = lines.Err()
	if err == nil {
		err = io.ErrUnexpectedEOF // it ends with us only
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return true, fmt.Errorf("%w any more: %w", ErrNoAnswer, err)
}
