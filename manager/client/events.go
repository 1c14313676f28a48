package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
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
	r := request{method: http.MethodGet, path: "/api/v1/events"}
	return c.listen(ctx, r, after, func(m message) error {
		e := Event{ID: m.id}
		if err := json.Unmarshal([]byte(m.data), &e); err != nil {
			return fmt.Errorf("what answers at %s is no manager: %w", c.opts.Address, err)
		}
		return each(e)
	}, lost)
}
