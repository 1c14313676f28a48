package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// errSilent says that a manager sent nothing for longer than it ever does.
var errSilent = errors.New("it has sent nothing for a while")

const (
	silence  = 45 * time.Second // a manager says three times in it that it is still there
	maxEvent = 4 << 20          // bytes of a line
)

// Events calls a function with what happens, until it or ctx ends; the error is
// theirs. It begins after the event with an id, or where that is empty with the
// states now. Unless it is to follow, it returns when there is nothing more to
// tell. When the manager does not answer any more, it says so by lost, and comes
// back until it does: it misses nothing of the last 10,000 events, and otherwise is
// told so by an event of the kind "missing".
func (c *Client) Events(ctx context.Context, after string, follow bool, each func(Event) error, lost func(error)) error {
	for wait, known := time.Duration(0), false; ; {
		begun, err := c.stream(ctx, &after, follow, each)
		known = known || begun
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && !follow:
			return nil
		case err != nil && (!known || !passing(err)):
			return err
		case begun:
			wait = 0
		}
		if err != nil {
			lost(err)
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
		wait = min(max(2*wait, 100*time.Millisecond), 5*time.Second)
	}
}

// stream reads events from one connection, and moves after on with each.
func (c *Client) stream(ctx context.Context, after *string, follow bool, each func(Event) error) (begun bool, err error) {
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
		case field == "" && value == upToDate && !follow:
			return true, nil
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

// upToDate is the comment by which a manager says that all was told.
const upToDate = "up to date"
