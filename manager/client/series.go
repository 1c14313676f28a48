package client

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// Series is numbers of components over time.
type Series struct {
	At         []time.Time       `json:"at"` // the time of each sample
	Components []ComponentSeries `json:"components"`
}

// ComponentSeries has a number for each sample of a component; nil: unknown.
type ComponentSeries struct {
	Name     string     `json:"name"`
	CPU      []*float64 `json:"cpu_percent"`
	Memory   []*float64 `json:"memory_bytes"`
	Restarts []*float64 `json:"restarts"`
	States   []string   `json:"states"`
}

// Series returns the last samples of the given components.
func (c *Client) Series(ctx context.Context, since time.Duration, components []string) (Series, error) {
	const most = 50 // names in the address of a request
	var all Series
	for names := range slices.Chunk(components, most) {
		query := url.Values{"since": {strconv.Itoa(max(1, int(since.Seconds())))}, "component": names}
		var page Series
		if _, err := c.do(ctx, request{method: http.MethodGet, path: "/api/v1/series", query: query}, &page); err != nil {
			return all, err
		}
		if all.At == nil || len(page.At) == len(all.At) {
			all.At = page.At
		}
		all.Components = append(all.Components, page.Components...)
	}
	return all, nil
}
