package rest

import (
	"fmt"

	"github.com/toskose/toskose/unit/wire"
)

// Problem is a problem document (RFC 9457) with extensions, the response to a failed request. Type is stable:
// clients may rely on it.
type Problem struct {
	Type       string       `json:"type"`
	Title      string       `json:"title"`
	Status     int          `json:"status"`
	Detail     string       `json:"detail"`
	Instance   string       `json:"instance,omitempty"` // the path of the request
	Request    string       `json:"request,omitempty"`  // its id, as in the logs
	Suggestion string       `json:"suggestion,omitempty"`
	Candidates []string     `json:"candidates,omitempty"`
	State      string       `json:"state,omitempty"`
	Allowed    []string     `json:"allowed,omitzero"`
	Lacks      []Lack       `json:"lacks,omitempty"`
	Execution  string       `json:"execution,omitempty"` // the id of the execution that was started and did not succeed
	Outcome    wire.Outcome `json:"outcome,omitempty"`
	wire.Exit
	wire.Output          // of the worst run
	Runs        []Run    `json:"runs,omitempty"`
	Results     []Result `json:"results,omitempty"`
	Nodes       []string `json:"nodes,omitempty"` // that are not ready
}

func (p *Problem) Error() string {
	if p.Detail != "" {
		return p.Detail
	}
	return fmt.Sprintf("%d %s", p.Status, p.Title)
}
