package rest

import (
	"time"

	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/unit/wire"
)

// LogPage is a page of lines.
type LogPage struct {
	Lines []LogLine `json:"lines"`
	Notes []LogLine `json:"notes,omitempty"` // about missing lines
	Next  string    `json:"next"`            // the position where the next page starts
}

// EventPage is a page of events.
type EventPage struct {
	Events []mirror.Event `json:"events"`
	Next   string         `json:"next,omitempty"` // the id after which the next page starts
}

// LogQuery selects lines. The zero value selects all existing lines.
type LogQuery struct {
	Of      []string    // nodes, components and operations, as NODE/COMPONENT/OPERATION or a part of it; none: all
	Replica string      // address or instance; empty: all
	Stream  wire.Stream // empty: both
	Since   time.Time   // zero: from the oldest line on
	Until   time.Time   // exclusive end; zero: no limit
	Text    string      // text that a line contains
	Match   string      // a regular expression (RE2)
	Tail    *int        // the last of these lines; nil: all
	Follow  bool        // wait for new lines
	After   string      // start after this position and ignore Tail
}
