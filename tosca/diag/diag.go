// Package diag defines diagnostics: a problem of a document, its position, and a
// suggestion. A list of diagnostics prints sorted, one a line, and is an error if it
// contains an error. The package knows nothing of TOSCA and starts no goroutine.
package diag

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/toskose/toskose/internal/visible"
)

// Severity says whether a document is usable in spite of a diagnostic.
type Severity int

// The severities. The zero value is Error, so that none is missed.
const (
	Error   Severity = iota // the document is not valid
	Warning                 // the document is valid, but probably wrong
)

// String returns the word for machines.
func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// MarshalText returns the word for JSON.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (s *Severity) UnmarshalText(text []byte) error {
	switch string(text) {
	case "error":
		*s = Error
	case "warning":
		*s = Warning
	default:
		return fmt.Errorf("severity %q is neither error nor warning", text)
	}
	return nil
}

// Position is a position in a file. Line and Column count from 1. Line 0 stands for the
// whole file, and an empty File for none.
type Position struct {
	File   string `json:"file,omitempty"` // relative to the archive's root
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// Quote is strconv.Quote, but faster for plain names.
func Quote(name string) string {
	for i := range len(name) {
		if c := name[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return strconv.Quote(name)
		}
	}
	return `"` + name + `"`
}

// String returns file:line:column, without unknown parts.
func (p Position) String() string {
	switch {
	case p.File == "":
		return ""
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	default:
		return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
}

// Compare orders positions by file, line and column.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column))
}

// Diagnostic is one problem. A released code never changes its meaning.
type Diagnostic struct {
	Position
	Code       string   `json:"code"` // "TOSCA-REQ-003"
	Severity   Severity `json:"severity"`
	Message    string   `json:"message"`              // a sentence that names its subject
	Suggestion string   `json:"suggestion,omitempty"` // a name that the author may have meant
	Text       string   `json:"-"`                    // the line, if the file cannot be read again
}

// Error returns the diagnostic in one line: position, message and suggestion.
func (d Diagnostic) Error() string {
	var b strings.Builder
	if at := d.String(); at != "" {
		b.WriteString(visible.Text(at))
		b.WriteString(": ")
	}
	if d.Severity == Warning {
		b.WriteString("warning: ")
	}
	b.WriteString(visible.Text(d.Message))
	if d.Suggestion != "" {
		fmt.Fprintf(&b, " (did you mean %q?)", d.Suggestion)
	}
	return b.String()
}

// List is a list of diagnostics. As an error it prints all of them, sorted.
type List []Diagnostic

// Sort sorts the list by position, code and message, and removes duplicates.
func (l *List) Sort() {
	slices.SortStableFunc(*l, func(a, b Diagnostic) int {
		return cmp.Or(a.Compare(b.Position), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
	})
	*l = slices.Compact(*l)
}

// HasErrors reports whether the list contains an error.
func (l List) HasErrors() bool {
	return slices.ContainsFunc(l, func(d Diagnostic) bool { return d.Severity == Error })
}

// Err returns the list if it contains an error, and nil otherwise.
func (l List) Err() error {
	if !l.HasErrors() {
		return nil
	}
	return l
}

// Error prints the sorted list, one diagnostic a line.
func (l List) Error() string {
	sorted := slices.Clone(l)
	sorted.Sort()
	lines := make([]string, len(sorted))
	for i, d := range sorted {
		lines[i] = d.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find single diagnostics.
func (l List) Unwrap() []error {
	errs := make([]error, len(l))
	for i, d := range l {
		errs[i] = d
	}
	return errs
}

// UTF8 converts a text to UTF-8. UTF-16 is recognized by its byte order mark, which is
// removed (YAML 1.2, 5.2).
func UTF8(data []byte) []byte {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe\x00\x00")): // UTF-32
		return data
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		order = binary.BigEndian
	default:
		return bytes.TrimPrefix(data, []byte("\uFEFF"))
	}
	units := make([]uint16, 0, len(data)/2)
	for i := 2; i+1 < len(data); i += 2 {
		units = append(units, order.Uint16(data[i:]))
	}
	return []byte(string(utf16.Decode(units)))
}

// lineEnds are the line ends of YAML 1.1 (5.4), as positions count them.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// Lines returns the lines of a file without line ends.
func Lines(data []byte) []string { return strings.Split(lineEnds.Replace(string(UTF8(data))), "\n") }
