package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"time"

	"github.com/toskose/toskose/internal/sleep"
)

// errSilent is the error of a stream that received nothing for longer than the manager's keep-alive interval.
var errSilent = errors.New("it has sent nothing for a while")

const (
	silence  = 45 * time.Second // a manager sends three heartbeats in this time
	maxEvent = 4 << 20          // bytes of a line
)

// message is a server-sent event.
type message struct{ id, kind, data string }

// listen calls each for every server-sent event after the given id, until each returns an error or ctx ends; it
// returns that error. When the manager stops responding, it calls lost and reconnects until it succeeds.
func (c *Client) listen(ctx context.Context, r request, after string, each func(message) error, lost func(error)) error {
	for wait, known := time.Duration(0), false; ; wait = min(max(2*wait, 100*time.Millisecond), 5*time.Second) {
		begun, err := c.stream(ctx, r, &after, each)
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
		if err := sleep.For(ctx, wait); err != nil {
			return err
		}
	}
}

// stream reads events from one connection until it ends, and advances after with each.
func (c *Client) stream(ctx context.Context, r request, after *string, each func(message) error) (begun bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alarm := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer alarm.Stop()
	r.header = maps.Clone(r.header)
	if r.header == nil {
		r.header = map[string]string{}
	}
	r.header["Accept"] = "text/event-stream"
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
	var m message
	for lines.Scan() {
		alarm.Stop() // not while the callback is running
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case field == "id":
			m.id = value
		case field == "event":
			m.kind = value
		case field == "data":
			m.data = value
		case lines.Text() == "":
			if m.data != "" {
				if err := each(m); err != nil {
					return true, err
				}
			}
			if m.id != "" {
				*after = m.id
			}
			m.kind, m.data = "", ""
		}
		alarm.Reset(silence)
	}
	err = lines.Err()
	if err == nil {
		err = io.ErrUnexpectedEOF // the manager never ends the stream
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return true, fmt.Errorf("%w any more: %w", ErrNoAnswer, err)
}
