package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
)

// History returns executions from the journals of the current containers.
func (c *Client) History(ctx context.Context, q HistoryQuery) (History, error) {
	const most = 200 // per response
	values := url.Values{"output": {strconv.FormatBool(q.Output)}}
	for name, value := range map[string]string{"node": q.Node, "component": q.Component, "operation": q.Operation, "by": q.By, "outcome": q.Outcome} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if q.Index != nil {
		values.Set("index", strconv.Itoa(*q.Index))
	}
	all := History{Executions: []Execution{}}
	for {
		values.Set("limit", strconv.Itoa(min(max(q.Limit-len(all.Executions), 1), most)))
		var page History
		if _, err := c.do(ctx, request{method: http.MethodGet, path: "/api/v1/executions", query: values}, &page); err != nil {
			return all, err
		}
		all.Executions, all.Missing = append(all.Executions, page.Executions...), page.Missing
		if page.Next == "" || len(all.Executions) >= q.Limit {
			return all, nil
		}
		values.Set("after", page.Next)
	}
}
