package logs

import (
	"bytes"
	"fmt"
	"regexp"
	"time"

	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/unit/wire"
)

// The limits of a query.
const (
	MaxTail    = 10_000
	maxPattern = 1000 // bytes of Text, and of Match
)

// filter is a validated query.
type filter struct {
	rest.LogQuery
	pattern *regexp.Regexp
	after   *position // nil: not set
}

func newFilter(q rest.LogQuery) (*filter, error) {
	f := &filter{LogQuery: q}
	invalid := func(format string, a ...any) error {
		return &rest.Error{Kind: rest.ErrInvalid, Detail: fmt.Sprintf(format, a...)}
	}
	var err error
	switch {
	case q.Stream != "" && q.Stream != wire.Stdout && q.Stream != wire.Stderr:
		return nil, invalid("stream %.60q is neither %q nor %q", q.Stream, wire.Stdout, wire.Stderr)
	case len(q.Text) > maxPattern || len(q.Match) > maxPattern:
		return nil, invalid("text and match have at most %d bytes", maxPattern)
	case q.Tail != nil && (*q.Tail < 0 || *q.Tail > MaxTail):
		return nil, invalid("tail is a number of lines from 0 to %d", MaxTail)
	case q.Follow && !q.Until.IsZero():
		return nil, invalid("follow and until exclude each other")
	case !q.Since.IsZero() && !q.Until.IsZero() && q.Until.Before(q.Since):
		return nil, invalid("until is before since")
	}
	if q.Match != "" {
		if f.pattern, err = regexp.Compile(q.Match); err != nil {
			return nil, invalid("match: %v", err)
		}
	}
	if q.After != "" {
		if f.after, err = parsePosition(q.After); err != nil {
			return nil, invalid("after: %v", err)
		}
	}
	return f, nil
}

// selects reports whether a line is selected.
func (f *filter) selects(line []byte, at time.Time) bool {
	return (f.Since.IsZero() || !at.Before(f.Since)) && (f.Until.IsZero() || at.Before(f.Until)) &&
		(f.Text == "" || bytes.Contains(line, []byte(f.Text))) && (f.pattern == nil || f.pattern.Match(line))
}

// ends reports whether no line from this time on is selected.
func (f *filter) ends(at time.Time) bool { return !f.Until.IsZero() && !at.Before(f.Until) }
