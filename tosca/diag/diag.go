// Package diag holds diagnostics: what is wrong with a document, where, and
// what may have been meant. A list of them prints sorted, one a line, and is an
// error when one of them is. It knows nothing of TOSCA and starts no goroutine.
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

// Severity says whether a document can be used in spite of a diagnostic.
type Severity int

// The severities. The zero value is Error, so that none is forgotten.
const (
	Error   Severity = iota // the document means nothing usable
	Warning                 // valid, and surely not what was meant
)

// String returns the word that machines read.
func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// MarshalText makes a severity a word in JSON.
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

// Position is a place in a file. Line and Column count from 1; 0 means the file
// as a whole, and an empty File no file at all.
type Position struct {
	File   string `json:"file,omitempty"` // as the user knows it: relative to the archive's root
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// Quote writes a name as messages do, in quotes. It is strconv.Quote, and quicker
// for what most names are.
func Quote(name string) string {
	for i := range len(name) {
		if c := name[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return strconv.Quote(name)
		}
	}
	return `"` + name + `"`
}

// String returns file:line:column, without what is unknown.
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

// Diagnostic is one problem. Its code is stable: a released code never changes
// its meaning.
type Diagnostic struct {
	Position
	Code       string   `json:"code"` // "TOSCA-REQ-003"
	Severity   Severity `json:"severity"`
	Message    string   `json:"message"`              // a sentence that names its subject
	Suggestion string   `json:"suggestion,omitempty"` // a name that may have been meant
	Text       string   `json:"-"`                    // the line, where its file cannot be read again
}

// Error is the diagnostic as one line: position, sentence and suggestion.
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

// List is all that is wrong. As an error it prints every diagnostic, sorted.
type List []Diagnostic

// Sort orders the list by position, then code and sentence, and drops what is
// said twice.
func (l *List) Sort() {
	slices.SortStableFunc(*l, func(a, b Diagnostic) int {
		return cmp.Or(a.Compare(b.Position), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
	})
	*l = slices.Compact(*l)
}

// HasErrors reports whether a diagnostic is more than a warning.
func (l List) HasErrors() bool {
	return slices.ContainsFunc(l, func(d Diagnostic) bool { return d.Severity == Error })
}

// Err returns the list as an error when it has one, and nil otherwise.
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

// Unwrap lets errors.As find the single diagnostics.
func (l List) Unwrap() []error {
	errs := make([]error, len(l))
	for i, d := range l {
		errs[i] = d
	}
	return errs
}

// UTF8 returns a text in UTF-8: one in UTF-16 begins with a byte order mark, which
// is left out (YAML 1.2, 5.2).
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

// lineEnds are what ends a line as positions count them: as YAML 1.1 has it, and
// so its readers (5.4).
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// Lines returns the lines of a file, without their ends.
func Lines(data []byte) []string { return strings.Split(lineEnds.Replace(string(UTF8(data))), "\n") }
