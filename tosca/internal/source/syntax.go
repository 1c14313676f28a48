package source

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/tosca/diag"
)

// For a syntax error, yaml.v3 reports a line at most, and within a map or list often the
// line before. This file finds the position by how far the library reads.

const (
	maxReread = 2 << 20   // bytes: larger files are not read again
	maxHalved = 256 << 10 // bytes: larger files are not bisected
	ahead     = 4         // characters that the library reads ahead
)

var (
	lineOf   = regexp.MustCompile(`^yaml: line (\d+): `)
	ofParser = regexp.MustCompile(`^(did not find expected (',' or|key|'-'|node|<)|found undefined tag)`)
	inFlow   = regexp.MustCompile(`^(did not find expected ',' or|found undefined tag)`)
	tabbed   = regexp.MustCompile(`^found (a tab character|character that cannot start any token)`)
	noAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced`)
)

// syntax makes a diagnostic of the library's error.
func syntax(file string, data []byte, err error) *diag.Diagnostic {
	at, text := diag.Position{File: file, Line: 1, Column: 1}, err.Error()
	if m := lineOf.FindStringSubmatch(text); m != nil {
		at.Line, _ = strconv.Atoi(m[1])
		text = text[len(m[0]):]
	}
	text = strings.TrimPrefix(text, "yaml: ")
	if strings.HasSuffix(text, "did not find expected key") {
		text += "; is the line indented as the others of its block?"
	}
	d := &diag.Diagnostic{Position: at, Code: codeSyntax, Message: "not YAML: " + text}
	if offset, char := badCharacter(data); offset >= 0 {
		d.Line, d.Column = lineAndColumn(data, offset)
		d.Message = "not YAML: " + char
		return d
	}
	offset, found := place(data, err.Error(), text)
	switch {
	case found:
		d.Line, d.Column = lineAndColumn(data, offset)
	case ofParser.MatchString(text):
		d.Line++ // the library counts these lines from 0
	}
	switch {
	case strings.HasPrefix(text, "exceeded max depth"):
		d.Code, d.Message = codeDepth, fmt.Sprintf("nested more than %d levels deep", maxDepth)
	case tabbed.MatchString(text) && toTab(d, data):
		d.Message = "not YAML: a tab cannot indent; use spaces"
	case found && strings.HasPrefix(text, "found character that cannot start any token"):
		d.Message = "not YAML: " + cannotStart(data[offset:])
	}
	return d
}

// toTab moves a diagnostic to a tab in the indentation of its line or of the lines next
// to it. It reports whether there is one.
func toTab(d *diag.Diagnostic, data []byte) bool {
	lines := bytes.Split(data, []byte("\n"))
	for _, line := range []int{d.Line, d.Line + 1, d.Line - 1} {
		if line < 1 || line > len(lines) {
			continue
		}
		text := lines[line-1]
		indent := text[:len(text)-len(bytes.TrimLeft(text, " \t"))]
		if at := bytes.IndexByte(indent, '\t'); at >= 0 {
			d.Line, d.Column = line, at+1
			return true
		}
	}
	return false
}

func cannotStart(rest []byte) string {
	if rest[0] == '\t' {
		return "a tab cannot indent; use spaces"
	}
	r, _ := utf8.DecodeRune(rest)
	return fmt.Sprintf("%s cannot begin a value; put the value in quotes", diag.Quote(string(r)))
}

// badCharacter returns the offset of the first invalid byte, or -1.
func badCharacter(data []byte) (int, string) {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return i, fmt.Sprintf("byte 0x%02X is not UTF-8; the file may be in another encoding", data[i])
		case r < ' ' && r != '\t' && r != '\n' && r != '\r', r >= 0x7f && r < 0xa0 && r != 0x85:
			return i, fmt.Sprintf("control character U+%04X", r)
		}
		i += size
	}
	return -1, ""
}

// place returns the offset at which the library stops reading. If it reads to the end,
// as for an unclosed quote or bracket, that is the end of the shortest prefix of the
// file with the same error.
func place(data []byte, whole, text string) (int, bool) {
	if len(data) == 0 || len(data) > maxReread {
		return 0, false
	}
	slow := &oneByteReader{rest: data}
	decodeError(slow)
	end := len(data) - len(slow.rest)
	if m := noAnchor.FindStringSubmatch(text); m != nil {
		at := bytes.LastIndex(data[:end], []byte("*"+m[1]))
		return at, at >= 0
	}
	if text == "found incompatible YAML document" {
		at := bytes.Index(data, []byte("%YAML"))
		return at, at >= 0
	}
	if end < len(data) {
		for range ahead {
			_, size := utf8.DecodeLastRune(data[:end])
			end -= size
		}
		if inFlow.MatchString(text) { // the next key is read as well
			end = wordAt(data, end)
		}
		if ofParser.MatchString(text) {
			end = beforeLine(data, end)
		}
		return wordAt(data, end), true
	}
	if len(data) > maxHalved {
		return 0, false
	}
	low, high := 0, len(data) // the longest prefix with another error, and the shortest with this one
	for high-low > 1 {
		middle := (low + high) / 2
		for middle > low && !utf8.RuneStart(data[middle]) {
			middle--
		}
		if middle == low {
			break
		}
		if decodeError(bytes.NewReader(data[:middle])) == whole {
			high = middle
		} else {
			low = middle
		}
	}
	return wordAt(data, low), true
}

// beforeLine returns the end of the text before the line that begins at an offset: the
// library looks for comments in the next line before its parser reports an error. An
// offset within a line does not change.
func beforeLine(data []byte, at int) int {
	start := bytes.LastIndexByte(data[:at], '\n') + 1
	if len(bytes.TrimSpace(data[start:at])) > 0 {
		return at
	}
	for start > 0 {
		end := start - 1
		start = bytes.LastIndexByte(data[:end], '\n') + 1
		if line := bytes.TrimSpace(data[start:end]); len(line) > 0 && line[0] != '#' {
			return start + bytes.LastIndexByte(data[start:end], line[len(line)-1])
		}
	}
	return at
}

// decodeError decodes as decode does, and returns the error as text.
func decodeError(r io.Reader) (text string) {
	defer func() {
		if recover() != nil {
			text = "panic"
		}
	}()
	dec := yaml.NewDecoder(r)
	for range 2 {
		var doc yaml.Node
		if err := dec.Decode(&doc); err != nil {
			return err.Error()
		}
	}
	return ""
}

// oneByteReader returns one byte at a time, so that no more is read than needed.
type oneByteReader struct{ rest []byte }

func (d *oneByteReader) Read(p []byte) (int, error) {
	if len(d.rest) == 0 || len(p) == 0 {
		return 0, io.EOF
	}
	p[0], d.rest = d.rest[0], d.rest[1:]
	return 1, nil
}

// wordAt returns the offset of the word at an offset, or of the key before a colon.
func wordAt(data []byte, at int) int {
	at = min(max(at, 0), len(data)-1)
	if data[at] == ':' && at > 0 {
		at--
	}
	const parts = " \t\r\n,[]{}:"
	if bytes.IndexByte([]byte(parts), data[at]) >= 0 {
		return at
	}
	for at > 0 && bytes.IndexByte([]byte(parts), data[at-1]) < 0 {
		at--
	}
	return at
}

func lineAndColumn(data []byte, offset int) (line, column int) {
	lines := diag.Lines(data[:offset])
	return len(lines), utf8.RuneCountInString(lines[len(lines)-1]) + 1
}

var directive = regexp.MustCompile(`^%YAML[ \t]+1\.([02-9])[ \t\r\n]`)

// olderYAML replaces the directive %YAML 1.2 by 1.1, as the library accepts no other
// version. It reads YAML 1.2 (10.3.2) all the same.
func olderYAML(data []byte) []byte {
	rest := data
	for len(rest) > 0 && bytes.IndexByte([]byte("%# \t\r\n"), rest[0]) >= 0 {
		if m := directive.FindSubmatchIndex(rest); m != nil {
			at := len(data) - len(rest) + m[2]
			return bytes.Join([][]byte{data[:at], data[at+1:]}, []byte("1"))
		}
		_, after, _ := bytes.Cut(rest, []byte("\n"))
		rest = after
	}
	return data
}

// isXML matches the beginning of XML.
var isXML = regexp.MustCompile(`^(\xef\xbb\xbf)?\s*<(\?xml|[A-Za-z])`)

// The library reads numbers of YAML 1.1; TOSCA 2.0 has those of 1.2.
var (
	integer = regexp.MustCompile(`^(?:[-+]?[0-9]+|[-+]?0o[0-7]+|[-+]?0x[0-9a-fA-F]+)$`)
	float   = regexp.MustCompile(`^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)
)

// number returns the kind of a plain scalar that the library reads as a number. In YAML
// 1.2, 1_000 and 0b1 are strings, and 089 is an integer (YAML 1.2, 10.3.2).
func (p *parser) number(y *yaml.Node, tag string) Kind {
	asRead := !p.listKeys || y.Style&yaml.TaggedStyle != 0
	switch {
	case asRead && tag == "!!int", !asRead && integer.MatchString(y.Value):
		return Int
	case asRead, float.MatchString(y.Value):
		return Float
	}
	return String
}
