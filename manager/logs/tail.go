package logs

import (
	"slices"

	"github.com/toskose/toskose/manager/rest"
)

// tail keeps the last of the existing lines until all of them are read.
type tail struct {
	on    bool
	most  int // lines
	kept  []rest.LogLine
	bytes int
}

// tailBytes is the maximum number of bytes that tail keeps.
const tailBytes = 8 << 20

func (t *tail) add(e rest.LogLine) {
	e.Line = slices.Clone(e.Line)
	t.kept = append(t.kept, e)
	t.bytes += len(e.Line)
	for len(t.kept) > 0 && (len(t.kept) > t.most || t.bytes > tailBytes) {
		t.bytes -= len(t.kept[0].Line)
		t.kept[0] = rest.LogLine{}
		t.kept = t.kept[1:]
	}
}

// end returns the lines, once.
func (t *tail) end() []rest.LogLine {
	kept := t.kept
	*t = tail{}
	return kept
}
