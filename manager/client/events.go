package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/manager/rest"
)

// Latest returns the id before the last n events.
func Latest(n int) string { return mirror.Latest + strconv.Itoa(n) }

// Events calls each for every event after the given id, and returns when there are no more. With an empty id it
// starts with the current states. The manager keeps 10,000 events: if events were lost, an event of the kind
// "missing" precedes the states.
func (c *Client) Events(ctx context.Context, after string, each func(Event) error) error {
	for {
		var page rest.EventPage
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

// Follow is Events, but waits for further events until each returns an error or ctx ends; it returns that error.
// When the manager stops responding, Follow calls lost and reconnects until it succeeds. It delivers no event
// twice.
func (c *Client) Follow(ctx context.Context, after string, each func(Event) error, lost func(error)) error {
	r := request{method: http.MethodGet, path: "/api/v1/events"}
	return c.listen(ctx, r, after, func(m message) error {
		e := Event{ID: m.id}
		if err := json.Unmarshal([]byte(m.data), &e); err != nil {
			return fmt.Errorf("what answers at %s is no manager: %w", c.opts.Address, err)
		}
		return each(e)
	}, lost)
}
