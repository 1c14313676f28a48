// Package metrics writes numbers as OpenMetrics text (OpenMetrics 1.0, "Text
// format"): families with their description, samples with escaped labels, and
// the end mark. It starts no goroutine.
package metrics

import (
	"bytes"
	"strconv"
	"strings"
)

// ContentType is that of what a Writer writes.
const ContentType = "application/openmetrics-text; version=1.0.0; charset=utf-8"

// Kind is the kind of a metric family.
type Kind string

// The kinds that a Writer supports.
const (
	Counter  Kind = "counter"  // only grows; its samples end in _total
	Gauge    Kind = "gauge"    // goes up and down
	Info     Kind = "info"     // 1, with labels that do not change
	StateSet Kind = "stateset" // 1 for the state that something is in, 0 for the others
)

// Family describes the samples of one name.
type Family struct {
	Name string // without _total or _info; ends in Unit, if there is one
	Kind Kind
	Unit string // seconds, bytes; empty: none
	Help string
}

// Writer collects families, one after another. The zero value is ready for use.
type Writer struct {
	text   bytes.Buffer
	family Family
	begun  bool // the family's description is written
}

// Begin begins a family. A family without samples writes nothing.
func (w *Writer) Begin(f Family) { w.family, w.begun = f, false }

// Add writes a sample of the family. labels are names and values in turn.
func (w *Writer) Add(value float64, labels ...string) {
	w.describe()
	w.text.WriteString(w.family.Name)
	switch w.family.Kind {
	case Counter:
		w.text.WriteString("_total")
	case Info:
		w.text.WriteString("_info")
	case Gauge, StateSet:
	}
	for i := 0; i+1 < len(labels); i += 2 {
		w.text.WriteByte("{,"[min(i, 1)])
		w.text.WriteString(labels[i] + `="` + escape(labels[i+1]) + `"`)
	}
	if len(labels) > 1 {
		w.text.WriteByte('}')
	}
	w.text.WriteString(" " + strconv.FormatFloat(value, 'f', -1, 64) + "\n")
}

// States writes a sample for each state: 1 for the current one, 0 for the others.
func (w *Writer) States(states []string, current string, labels ...string) {
	for _, state := range states {
		value := 0.0
		if state == current {
			value = 1
		}
		w.Add(value, append(labels[:len(labels):len(labels)], w.family.Name, state)...)
	}
}

func (w *Writer) describe() {
	if w.begun {
		return
	}
	w.begun = true
	name := w.family.Name
	w.text.WriteString("# TYPE " + name + " " + string(w.family.Kind) + "\n")
	if w.family.Unit != "" {
		w.text.WriteString("# UNIT " + name + " " + w.family.Unit + "\n")
	}
	w.text.WriteString("# HELP " + name + " " + escape(w.family.Help) + "\n")
}

var escaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// escape makes any bytes safe in a label value or a help text.
func escape(text string) string { return escaper.Replace(strings.ToValidUTF8(text, "\uFFFD")) }

// Bytes writes the end mark and returns the text.
func (w *Writer) Bytes() []byte {
	w.text.WriteString("# EOF\n")
	return w.text.Bytes()
}
