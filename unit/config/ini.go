package config

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// value is the value of a key before expansion.
type value struct {
	text  string // its lines, joined by newlines
	file  string
	lines []int  // the line number of each
	here  string // folder of the file, for %(here)s
}

func (v *value) line() int { return v.lines[0] }

// section is a section, merged from all its occurrences.
type section struct {
	name string
	file string // of its first header
	line int
	keys map[string]*value
	own  []string // keys in the order of their first occurrence
}

// document is the content of an INI file and the files that it includes.
type document struct {
	sections map[string]*section
	order    []string
	defaults *section // [DEFAULT]: the others fall back to it
}

func newDocument() *document {
	return &document{
		sections: map[string]*section{},
		defaults: &section{name: "DEFAULT", keys: map[string]*value{}},
	}
}

func (d *document) section(name, file string, line int) *section {
	if name == d.defaults.name {
		return d.defaults
	}
	if s, ok := d.sections[name]; ok {
		return s
	}
	s := &section{name: name, file: file, line: line, keys: map[string]*value{}}
	d.sections[name] = s
	d.order = append(d.order, name)
	return s
}

// lookup finds a key in a section or in [DEFAULT].
func (d *document) lookup(s *section, key string) (*value, bool) {
	if v, ok := s.keys[key]; ok {
		return v, true
	}
	v, ok := d.defaults.keys[key]
	return v, ok
}

// iniReader adds one file to a document, by the rules of Python's RawConfigParser
// as Supervisor configures it: both `=` and `:` end a key, keys are
// case-insensitive, a line that is indented deeper than its key continues the
// value, empty lines do not end it, and a comment begins with `;` or `#` at the
// start of a line or after white space. The last of several values applies.
type iniReader struct {
	doc    *document
	report *report
	file   string
	here   string

	section *section
	open    *value // the value that a deeper line continues
	key     string
	indent  int
}

func (r *iniReader) read(text string) {
	text = strings.TrimPrefix(text, "\ufeff")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	for i, line := range strings.Split(text, "\n") {
		r.line(i+1, line)
	}
}

func (r *iniReader) line(n int, line string) {
	if strings.Contains(line, "\x00") {
		r.report.problem(r.file, n, "the line has a zero byte")
		return
	}
	content, commented := cutComment(line)
	content = strings.TrimSpace(content)
	if content == "" {
		if !commented && r.open != nil {
			r.extend(n, "")
		}
		return
	}
	indent := len(line) - len(strings.TrimLeftFunc(line, unicode.IsSpace))
	if r.open != nil && indent > r.indent {
		if strings.HasPrefix(content, "[") && strings.HasSuffix(content, "]") && strings.Contains(content, ":") {
			r.report.warn(r.file, n, "%s is indented and so continues the value of %s; move it to the start of the line to begin a section", content, r.key)
		}
		r.extend(n, content)
		return
	}
	r.indent = indent
	if name, ok := header(content); ok {
		r.section, r.open = r.doc.section(name, r.file, n), nil
		return
	}
	if r.section == nil {
		r.open = nil
		r.report.problem(r.file, n, "the line is before the first [section]")
		return
	}
	r.option(n, content)
}

func (r *iniReader) extend(n int, content string) {
	r.open.text += "\n" + content
	r.open.lines = append(r.open.lines, n)
}

func (r *iniReader) option(n int, content string) {
	i := strings.IndexAny(content, "=:")
	if i < 0 {
		// The line itself is not shown: it may be the rest of a secret.
		r.report.problem(r.file, n, "[%s] has a line that is neither key=value nor the continuation of one", r.section.name)
		return
	}
	key := strings.ToLower(strings.TrimRightFunc(content[:i], unicode.IsSpace))
	if key == "" {
		r.report.problem(r.file, n, "[%s] has a value without a key", r.section.name)
		return
	}
	r.open = &value{text: strings.TrimSpace(content[i+1:]), file: r.file, lines: []int{n}, here: r.here}
	r.key = key
	if old, ok := r.section.keys[key]; ok {
		r.report.warn(r.file, n, "[%s] sets %s again; it overrides %s:%d", r.section.name, key, old.file, old.line())
	} else {
		r.section.own = append(r.section.own, key)
	}
	r.section.keys[key] = r.open
}

// finish strips white space from the ends of joined values.
func (d *document) finish() {
	for _, s := range append([]*section{d.defaults}, d.all()...) {
		for _, v := range s.keys {
			v.text = strings.TrimRightFunc(v.text, unicode.IsSpace)
		}
	}
}

func (d *document) all() []*section {
	list := make([]*section, len(d.order))
	for i, name := range d.order {
		list[i] = d.sections[name]
	}
	return list
}

func header(content string) (string, bool) {
	end := strings.LastIndexByte(content, ']')
	if content[0] != '[' || end < 2 {
		return "", false
	}
	return content[1:end], true
}

// cutComment removes a comment from a line, and reports whether there was one. As
// RawConfigParser does, it tries the first `;` and the first `#`, then the second
// of each, and so on; the first round with a match decides.
func cutComment(line string) (string, bool) {
	if trimmed := strings.TrimSpace(line); trimmed != "" && (trimmed[0] == ';' || trimmed[0] == '#') {
		return "", true
	}
	next := map[byte]int{';': 0, '#': 0}
	for len(next) > 0 {
		start := len(line)
		for mark, from := range next {
			i := strings.IndexByte(line[from:], mark)
			if i < 0 {
				delete(next, mark)
				continue
			}
			i += from
			next[mark] = i + 1
			if before, _ := utf8.DecodeLastRuneInString(line[:i]); i == 0 || unicode.IsSpace(before) {
				start = min(start, i)
			}
		}
		if start < len(line) {
			return line[:start], true
		}
	}
	return line, false
}
