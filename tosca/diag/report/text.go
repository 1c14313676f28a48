package report

import (
	"bytes"
	"fmt"
	"io"
	"unicode"

	"github.com/toskose/toskose/internal/visible"
	"github.com/toskose/toskose/tosca/diag"
)

// The colours of terminals (ECMA-48, 8.3.117).
const (
	bold   = "\x1b[1m"
	red    = "\x1b[1;31m"
	yellow = "\x1b[1;33m"
	blue   = "\x1b[34m"
	plain  = "\x1b[0m"
)

// maxShown bounds the diagnostics printed as text.
const maxShown = 1000

// Text prints the list for people: each diagnostic with its position, code and source
// line, and a caret below the column.
func Text(w io.Writer, list diag.List, opts Options) error {
	p := printer{opts: opts, files: map[string][]string{}}
	shown := min(len(list), maxShown)
	for _, d := range list[:shown] {
		p.diagnostic(d)
	}
	if more := len(list) - shown; more > 0 {
		fmt.Fprintf(&p.out, "and %s: `toskose validate -o json` has all\n", plural(more, "more problem"))
	}
	if _, err := w.Write(p.out.Bytes()); err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	return nil
}

type printer struct {
	opts  Options
	last  diag.Position // of the cached runes, as a file may be one line of megabytes
	text  []rune
	out   bytes.Buffer
	files map[string][]string // lines by file; nil if unreadable
}

func (p *printer) colour(code, text string) string {
	if !p.opts.Colour {
		return text
	}
	return code + text + plain
}

func (p *printer) diagnostic(d diag.Diagnostic) {
	at := d.Position
	if p.opts.Name != nil && at.File != "" {
		at.File = p.opts.Name(at.File)
	}
	if at := at.String(); at != "" {
		p.out.WriteString(p.colour(bold, visible.Text(at)) + ": ")
	}
	shade := red
	if d.Severity == diag.Warning {
		shade = yellow
	}
	fmt.Fprintf(&p.out, "%s: %s [%s]\n", p.colour(shade, d.Severity.String()), shorten(visible.Text(d.Message)), d.Code)
	p.line(d, shade)
	if d.Suggestion != "" {
		fmt.Fprintf(&p.out, "        did you mean %q?\n", d.Suggestion)
	}
}

// longest bounds a message, as names may be a megabyte long.
const longest = 1000

func shorten(text string) string {
	if len(text) <= longest {
		return text
	}
	r := []rune(text)
	if len(r) <= longest {
		return text
	}
	return string(r[:longest/2]) + "…" + string(r[len(r)-longest/2:])
}

// widest bounds the printed part of a line, as a file may be one line.
const widest = 120

// line prints the source line and a caret below the column.
func (p *printer) line(d diag.Diagnostic, shade string) {
	line := d.Text
	if lines := p.lines(d.File); line == "" {
		if d.Line < 1 || d.Line > len(lines) {
			return
		}
		line = lines[d.Line-1]
	}
	text := p.runes(d, line)
	column := min(d.Column, len(text)+1)
	before, after := "", ""
	if from := column - widest/2; len(text) > widest && from > 0 {
		text, column, before = text[from:], column-from+1, "…"
	}
	if len(text) > widest {
		text, after = text[:widest], "…"
	}
	shown := []rune(before + string(text) + after)
	fmt.Fprintf(&p.out, "%s %s\n", p.colour(blue, fmt.Sprintf("%5d |", d.Line)), visible.Text(string(shown)))
	if column < 1 {
		return
	}
	pad := []byte(nil)
	for _, r := range shown[:min(column-1, len(shown))] {
		pad = append(pad, blank(r)...)
	}
	fmt.Fprintf(&p.out, "%s %s%s\n", p.colour(blue, "      |"), pad, p.colour(shade, "^"))
}

// runes returns the characters of a line.
func (p *printer) runes(d diag.Diagnostic, line string) []rune {
	at := diag.Position{File: d.File, Line: d.Line}
	if p.text == nil || at != p.last {
		p.last, p.text = at, []rune(line)
	}
	return p.text
}

func (p *printer) lines(file string) []string {
	if file == "" || p.opts.Source == nil {
		return nil
	}
	if lines, read := p.files[file]; read {
		return lines
	}
	var lines []string
	if data, err := p.opts.Source(file); err == nil {
		lines = diag.Lines(data)
	}
	p.files[file] = lines
	return lines
}

// wide are the letters with two columns in a terminal (Unicode, annex 11, classes W and
// F), except rare ones.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115f, 1},
		{0x2e80, 0x303e, 1},
		{0x3041, 0x33ff, 1},
		{0x3400, 0x4dbf, 1},
		{0x4e00, 0xa4cf, 1},
		{0xa960, 0xa97f, 1},
		{0xac00, 0xd7a3, 1},
		{0xf900, 0xfaff, 1},
		{0xfe30, 0xfe6f, 1},
		{0xff00, 0xff60, 1},
		{0xffe0, 0xffe6, 1},
	},
	R32: []unicode.Range32{
		{0x16fe0, 0x18cff, 1},
		{0x1b000, 0x1b2ff, 1},
		{0x1f300, 0x1f64f, 1},
		{0x1f680, 0x1f6ff, 1},
		{0x1f900, 0x1f9ff, 1},
		{0x20000, 0x2fffd, 1},
		{0x30000, 0x3fffd, 1},
	},
}

// blank returns spaces as wide as a letter.
func blank(r rune) string {
	switch {
	case r == '\t':
		return "\t"
	case unicode.In(r, unicode.Mn, unicode.Me) || r == '\u200c' || r == '\u200d':
		return ""
	case unicode.Is(wide, r):
		return "  "
	}
	return " "
}
