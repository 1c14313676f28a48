package inherit

import (
	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/code"
)

// maxWork bounds what a document makes of itself: values inherited by many
// types, compared with many others, or written out many times. The unit is a
// value or a byte; a topology of 100,000 nodes needs a tenth of it.
const maxWork = 200 << 20

// Reporter gathers what is wrong with a service template, and counts the work
// that it makes.
type Reporter struct {
	diag.Collector
	File  string // the entry definition
	Draft bool   // it is still being written: what is incomplete is warned of
	Work  int    // done
	Limit int    // of it
}

// Spend counts work; it is false when there was too much, which is reported
// once. Whoever is told so leaves the rest undone.
func (r *Reporter) Spend(n int) bool {
	before := r.Work
	r.Work = min(r.Work+n, 2*r.Limit)
	if before <= r.Limit && r.Spent() {
		r.Errorf(diag.Position{File: r.File}, code.Work, "the document is too large once its types and functions are worked out")
	}
	return !r.Spent()
}

// Spent reports whether there was too much work.
func (r *Reporter) Spent() bool { return r.Work > r.Limit }

// Incomplete reports what a draft may lack, and nothing else.
func (r *Reporter) Incomplete(at diag.Position, code, format string, args ...any) {
	if r.Draft {
		r.Warnf(at, code, format, args...)
		return
	}
	r.Errorf(at, code, format, args...)
}
