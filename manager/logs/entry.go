package logs

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"
)

// Kind is the kind of an Entry.
type Kind string

// The kinds of entries.
const (
	Line   Kind = "line"   // a printed line
	Lost   Kind = "lost"   // part of a log was deleted before it was read
	Silent Kind = "silent" // a replica's unit is unresponsive; its lines follow once it responds
	Live   Kind = "live"   // all existing lines have been read; the following ones are new
)

// Entry is a line, or a notice about lines.
type Entry struct {
	Kind     Kind
	Time     time.Time
	Line     []byte // without the newline
	Partial  bool   // part of a line that continues in the next entry
	Bytes    int64  // lost bytes; 0: unknown
	Why      string
	Position string // the position after it: see Query.After

	label string // node, replica, component, operation and stream, as members of a JSON object

	// Process is the display name of the process that printed the line.
	Process string
}

const longTime = "2006-01-02T15:04:05.000000Z"

// AppendJSON appends the entry as a JSON object.
func (e *Entry) AppendJSON(to []byte) []byte {
	to = append(to, '{')
	if e.Kind != Line {
		to = append(append(append(to, `"kind":"`...), e.Kind...), '"')
	}
	if !e.Time.IsZero() {
		to = append(member(to, `"time":`), '"')
		to = e.Time.UTC().AppendFormat(to, longTime)
		to = append(to, '"')
	}
	to = member(to, e.label)
	switch e.Kind {
	case Line:
		if utf8.Valid(e.Line) {
			to = appendString(member(to, `"line":`), e.Line)
		} else {
			to = append(member(to, `"base64":`), '"')
			to = append(base64.StdEncoding.AppendEncode(to, e.Line), '"')
		}
		if e.Partial {
			to = append(to, `,"partial":true`...)
		}
	case Lost:
		if e.Bytes > 0 {
			to = strconv.AppendInt(member(to, `"bytes":`), e.Bytes, 10)
		}
	case Silent, Live:
	}
	if e.Why != "" {
		to = appendString(member(to, `"why":`), []byte(e.Why))
	}
	return append(to, '}')
}

// MarshalJSON is AppendJSON.
func (e *Entry) MarshalJSON() ([]byte, error) { return e.AppendJSON(nil), nil }

// member starts a member of an object.
func member(to []byte, text string) []byte {
	if text != "" && to[len(to)-1] != '{' {
		to = append(to, ',')
	}
	return append(to, text...)
}

// appendString appends valid UTF-8 as a JSON string. It is fast for lines without escapes, which most are.
func appendString(to, text []byte) []byte {
	for _, c := range text {
		if c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			escaped, err := json.Marshal(string(text))
			if err != nil {
				panic(err) // a string
			}
			return append(to, escaped...)
		}
	}
	to = append(to, '"')
	to = append(to, text...)
	return append(to, '"')
}
