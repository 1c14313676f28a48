package unit

import (
	"bytes"
	"strconv"
	"strings"
)

// MetricsType is the content type of [Unit.WriteMetrics].
const MetricsType = "application/openmetrics-text; version=1.0.0; charset=utf-8"

// metricKind is the type of a metric family (OpenMetrics 1.0, "Metric Types").
type metricKind string

const (
	counter  metricKind = "counter" // its samples end in _total
	gauge    metricKind = "gauge"
	infoKind metricKind = "info"     // value 1, with constant labels
	stateSet metricKind = "stateset" // 1 for the current state, 0 for the others
)

// metricFamily describes the samples of one metric.
type metricFamily struct {
	Name string // without _total or _info; ends in Unit unless that is empty
	Kind metricKind
	Unit string // seconds or bytes; may be empty
	Help string
}

// metricWriter writes families as OpenMetrics text. The zero value is ready for use.
type metricWriter struct {
	buffer bytes.Buffer
	family metricFamily
	begun  bool // the description of the family is written
}

// begin begins a family. A family without samples writes nothing.
func (w *metricWriter) begin(f metricFamily) { w.family, w.begun = f, false }

// add writes a sample of the family. labels alternate names and values.
func (w *metricWriter) add(value float64, labels ...string) {
	w.describe()
	w.buffer.WriteString(w.family.Name)
	switch w.family.Kind {
	case counter:
		w.buffer.WriteString("_total")
	case infoKind:
		w.buffer.WriteString("_info")
	case gauge, stateSet:
	}
	for i := 0; i+1 < len(labels); i += 2 {
		w.buffer.WriteByte("{,"[min(i, 1)])
		w.buffer.WriteString(labels[i] + `="` + escapeMetric(labels[i+1]) + `"`)
	}
	if len(labels) > 1 {
		w.buffer.WriteByte('}')
	}
	w.buffer.WriteString(" " + strconv.FormatFloat(value, 'f', -1, 64) + "\n")
}

// addStates writes a sample for each state: 1 for the current one, 0 for the others.
func (w *metricWriter) addStates(states []string, current string, labels ...string) {
	for _, state := range states {
		value := 0.0
		if state == current {
			value = 1
		}
		w.add(value, append(labels[:len(labels):len(labels)], w.family.Name, state)...)
	}
}

func (w *metricWriter) describe() {
	if w.begun {
		return
	}
	w.begun = true
	name := w.family.Name
	w.buffer.WriteString("# TYPE " + name + " " + string(w.family.Kind) + "\n")
	if w.family.Unit != "" {
		w.buffer.WriteString("# UNIT " + name + " " + w.family.Unit + "\n")
	}
	w.buffer.WriteString("# HELP " + name + " " + escapeMetric(w.family.Help) + "\n")
}

var metricEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// escapeMetric makes any bytes safe in a label value or a help text.
func escapeMetric(text string) string {
	return metricEscaper.Replace(strings.ToValidUTF8(text, "\uFFFD"))
}

// finish writes the end mark and returns the text.
func (w *metricWriter) finish() []byte {
	w.buffer.WriteString("# EOF\n")
	return w.buffer.Bytes()
}
