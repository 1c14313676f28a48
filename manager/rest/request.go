package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// RunRequest is a request to run an operation. Its JSON is the body of the HTTP request; the path, the query and the
// headers hold the other fields.
type RunRequest struct {
	ID      string  `json:"id,omitempty"` // chosen by the client: the same id is the same execution; empty: a new execution
	Inputs  Inputs  `json:"inputs,omitempty"`
	Timeout float64 `json:"timeout,omitempty"` // seconds; 0: the operation's own limit, or none

	Node           string `json:"-"`
	Component      string `json:"-"`
	Operation      string `json:"-"` // "interface.operation", or the bare name if it is unique
	Replica        string `json:"-"` // address or instance; empty: all
	Key            string `json:"-"` // idempotency key, from which the manager derives the id
	By             string `json:"-"` // the user, set by the manager
	Force          bool   `json:"-"` // even with unmet requirements, or on a replica of another version
	Strict         bool   `json:"-"` // not if it withdraws capabilities that others require
	MaxUnavailable int    `json:"-"` // maximum number of replicas at the same time; stops after a failure; 0: all at once
}

// Inputs override the declared inputs of an operation. Their JSON values may also be numbers and booleans.
type Inputs map[string]string

// UnmarshalJSON returns an error that names the input whose value is an object, a list or null.
func (in *Inputs) UnmarshalJSON(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var values map[string]any
	if err := decoder.Decode(&values); err != nil {
		return err
	}
	all := make(Inputs, len(values))
	for name, value := range values {
		switch v := value.(type) {
		case string:
			all[name] = v
		case json.Number, bool:
			all[name] = fmt.Sprint(v)
		default:
			return fmt.Errorf("the value of input %q is neither a string nor a number nor a boolean", name)
		}
	}
	if len(all) > 0 {
		*in = all
	}
	return nil
}

// HistoryQuery selects executions. Empty fields match everything.
type HistoryQuery struct {
	Node, Component string
	Operation       string // "interface.operation", or the bare name
	By              string // the user
	Outcome         string
	Index           *int   // of a Task
	After           string // History.Next of the previous page
	Limit           int    // maximum number of executions
	Output          bool   // include the end of the output, which the units return
}

// History is a page of past executions, the latest first.
type History struct {
	Executions []Execution `json:"executions"`
	Next       string      `json:"next,omitempty"`    // where the next page starts; empty: this is the last page
	Missing    []Missing   `json:"missing,omitempty"` // replicas whose older executions are omitted
}

// Missing is a replica whose journal or output cannot be read.
type Missing struct {
	Node    string `json:"node"`
	Replica string `json:"replica"`
	Why     string `json:"why"`
}
