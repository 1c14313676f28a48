package rest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/toskose/toskose/unit/wire"
)

// Result is the outcome of a request at one replica.
type Result struct {
	Node     string               `json:"node"`
	Replica  string               `json:"replica"`
	Done     bool                 `json:"done"`
	Detail   string               `json:"detail,omitempty"`
	Statuses []wire.ProcessStatus `json:"statuses,omitempty"` // of the processes concerned
	Added    []string             `json:"added,omitempty"`    // groups of processes, by a reload
	Changed  []string             `json:"changed,omitempty"`
	Removed  []string             `json:"removed,omitempty"`

	Err error `json:"-"`
}

// Log is a part of a log of one replica.
type Log struct {
	Replica   string `json:"replica"`
	Text      string `json:"text"`
	Offset    int64  `json:"offset,omitempty"`    // where to continue, if known
	Truncated bool   `json:"truncated,omitempty"` // earlier output is omitted
	Problem   string `json:"problem,omitempty"`   // why there is no text

	Err error `json:"-"`
}

// Lack is an unmet requirement of a component.
type Lack struct {
	Component   string `json:"component"`
	Requirement string `json:"requirement"`
	Provider    string `json:"provider"`   // the component, container or volume that it is bound to
	Capability  string `json:"capability"` // the missing capability
	Why         string `json:"why"`        // the provider's actual state
}

// String returns text that follows "requires".
func (l Lack) String() string {
	what := fmt.Sprintf("%s of %q", l.Requirement, l.Provider)
	if l.Capability != l.Requirement {
		what = fmt.Sprintf("%s, which is %s of %q", l.Requirement, l.Capability, l.Provider)
	}
	return what + ", and " + l.Why
}

// Same reports whether it is the same requirement, regardless of the provider's state.
func (l Lack) Same(o Lack) bool {
	return l.Component == o.Component && l.Requirement == o.Requirement && l.Provider == o.Provider
}

// Worst returns the most severe error of the replicas.
func Worst(subject string, results []Result) error {
	var worst error
	done := false
	for _, r := range results {
		done = done || r.Done
		if Rank(r.Err) > Rank(worst) {
			worst = r.Err
		}
	}
	if worst == nil || done && errors.Is(worst, ErrNotRunning) {
		return nil
	}
	e := *Of(subject, worst)
	e.Detail, e.Results = subject+": "+e.Detail, results
	return &e
}

// OneOf formats names as a list in a sentence.
func OneOf(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}
