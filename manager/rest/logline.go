package rest

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/toskose/toskose/unit/wire"
)

// LogKind is the kind of a LogLine.
type LogKind string

// The kinds of lines. All but LogPrinted are notices about lines.
const (
	LogPrinted LogKind = "line"   // a printed line
	LogLost    LogKind = "lost"   // part of a log was deleted before it was read
	LogSilent  LogKind = "silent" // a replica's unit is unresponsive; its lines follow once it responds
	LogLive    LogKind = "live"   // all existing lines have been read; the following ones are new
)

// LogLine is a line that an operation printed, or a notice about lines.
type LogLine struct {
	Kind LogKind
	Time time.Time
	LogSource
	Line     []byte // without the newline
	Partial  bool   // part of a line that continues in the next LogLine
	Bytes    int64  // lost bytes; 0: unknown
	Why      string // of a notice
	Position string // the position after it: see LogQuery.After
}

// LogSource is where a line comes from. Fields that do not apply to a notice are empty.
type LogSource struct {
	Node      string      `json:"node,omitempty"`
	Replica   string      `json:"replica,omitempty"`
	Component string      `json:"component,omitempty"`
	Operation string      `json:"operation,omitempty"`
	Stream    wire.Stream `json:"stream,omitempty"`

	members string // its JSON without braces, if it is already encoded
}

// Encoded returns the source with its JSON, which speeds up the encoding of its lines.
func (s LogSource) Encoded() LogSource {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings
	}
	s.members = string(text[1 : len(text)-1])
	return s
}

// Process returns the name of the process that printed the line, or the node.
func (s LogSource) Process() string {
	if s.Component == "" {
		return s.Node
	}
	return s.Component + ":" + s.Operation
}

// Clone returns a copy that does not share the memory of the line.
func (l LogLine) Clone() LogLine {
	l.Line = slices.Clone(l.Line)
	return l
}

const longTime = "2006-01-02T15:04:05.000000Z"

// AppendJSON appends the line as a JSON object. It is faster than package json, which matters for long logs.
func (l *LogLine) AppendJSON(to []byte) []byte {
	to = append(to, '{')
	if l.Kind != LogPrinted {
		to = append(append(append(to, `"kind":"`...), l.Kind...), '"')
	}
	if !l.Time.IsZero() {
		to = append(appendMember(to, `"time":`), '"')
		to = l.Time.UTC().AppendFormat(to, longTime)
		to = append(to, '"')
	}
	if l.members == "" && l.LogSource != (LogSource{}) {
		l.LogSource = l.Encoded()
	}
	to = appendMember(to, l.members)
	switch l.Kind {
	case LogPrinted:
		if utf8.Valid(l.Line) {
			to = appendString(appendMember(to, `"line":`), l.Line)
		} else {
			to = append(appendMember(to, `"base64":`), '"')
			to = append(base64.StdEncoding.AppendEncode(to, l.Line), '"')
		}
		if l.Partial {
			to = append(to, `,"partial":true`...)
		}
	case LogLost:
		if l.Bytes > 0 {
			to = strconv.AppendInt(appendMember(to, `"bytes":`), l.Bytes, 10)
		}
	case LogSilent, LogLive:
	}
	if l.Why != "" {
		to = appendString(appendMember(to, `"why":`), []byte(l.Why))
	}
	return append(to, '}')
}

// MarshalJSON is AppendJSON.
func (l LogLine) MarshalJSON() ([]byte, error) { return l.AppendJSON(nil), nil }

// UnmarshalJSON decodes the result of AppendJSON.
func (l *LogLine) UnmarshalJSON(text []byte) error {
	var fields struct {
		Kind LogKind   `json:"kind"`
		Time time.Time `json:"time"`
		LogSource
		Line    string `json:"line"`
		Base64  []byte `json:"base64"`
		Partial bool   `json:"partial"`
		Bytes   int64  `json:"bytes"`
		Why     string `json:"why"`
	}
	if err := json.Unmarshal(text, &fields); err != nil {
		return err
	}
	*l = LogLine{
		Kind: fields.Kind, Time: fields.Time, LogSource: fields.LogSource, Line: fields.Base64,
		Partial: fields.Partial, Bytes: fields.Bytes, Why: fields.Why,
	}
	if l.Kind == "" {
		l.Kind = LogPrinted
	}
	if l.Line == nil {
		l.Line = []byte(fields.Line)
	}
	return nil
}

// appendMember starts a member of an object.
func appendMember(to []byte, text string) []byte {
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
