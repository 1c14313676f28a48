package plan

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/toskose/toskose/spec/protocol"
)

// Formats are the formats of Format.
var Formats = []string{"text", "json", "dot", "plan", "csv"}

// Format returns the plan of an application as text, as JSON, as a graph for Graphviz, or as
// TosKer's .plan and .csv. Its output is deterministic.
func (p *Plan) Format(format, application string) ([]byte, error) {
	switch format {
	case "text":
		return p.text(application), nil
	case "json":
		return p.json(application)
	case "dot":
		return p.dot(application), nil
	case "plan":
		return p.toskerPlan(application), nil
	case "csv":
		return p.toskerCSV()
	default:
		return nil, fmt.Errorf("format %q is not one of %s", format, strings.Join(Formats, ", "))
	}
}

// Summary returns a sentence with the plan's size and how far it is proven to be minimal.
func (p *Plan) Summary() string {
	if p.Operations == 0 {
		return "nothing to do, the goal is reached already"
	}
	size := count(p.Operations, "operation") + " in " + count(len(p.Levels), "level")
	switch {
	case !p.Minimal.Operations:
		return size + "; not proven minimal: " + p.Limit
	case !p.Minimal.Levels:
		return size + "; no plan has fewer operations, but fewer levels may be possible: " + p.Limit
	default:
		return size
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (p *Plan) text(application string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s\n", application, p.Summary())
	for _, note := range p.Notes {
		fmt.Fprintf(&b, "  %s\n", note)
	}
	width := 0
	for _, s := range p.Steps() {
		width = max(width, len(s.String()))
	}
	for i, level := range p.Levels {
		fmt.Fprintf(&b, "\nlevel %d\n", i+1)
		for _, s := range level {
			fmt.Fprintf(&b, "  %-*s  %s to %s", width, s.Operation, s.Source, s.Target)
			switch {
			case s.Implemented:
			case s.Kind() == protocol.KindStop:
				b.WriteString(", not implemented: the unit ends what start left")
			default:
				b.WriteString(", not implemented: changes the state only")
			}
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

func (p *Plan) json(application string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(struct {
		Application string `json:"application"`
		*Plan
	}{application, p}); err != nil {
		return nil, fmt.Errorf("cannot encode a plan: %w", err)
	}
	return b.Bytes(), nil
}

// dot draws a step as a box, with an arrow from each step that it waits for.
// Steps of one level stand side by side.
func (p *Plan) dot(application string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "digraph %q {\n  rankdir=LR;\n  node [shape=box, style=rounded];\n", application)
	for _, level := range p.Levels {
		b.WriteString("  {\n    rank=same;\n")
		for _, s := range level {
			style := ""
			if !s.Implemented {
				style = `, style="rounded,dashed"`
			}
			label := s.Component + "\n" + s.Operation.Operation.String()
			fmt.Fprintf(&b, "    s%d [label=%q%s];\n", s.ID, label, style)
		}
		b.WriteString("  }\n")
	}
	for _, s := range p.Steps() {
		for _, before := range s.After {
			fmt.Fprintf(&b, "  s%d -> s%d;\n", before, s.ID)
		}
	}
	b.WriteString("}\n")
	return b.Bytes()
}

func (p *Plan) toskerPlan(application string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s: %s\n", application, p.Summary())
	for _, note := range p.Notes {
		fmt.Fprintf(&b, "# %s\n", note)
	}
	for i, level := range p.Levels {
		fmt.Fprintf(&b, "# level %d\n", i+1)
		for _, s := range level {
			fmt.Fprintln(&b, s.Operation)
		}
	}
	return b.Bytes()
}

func (p *Plan) toskerCSV() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	for _, s := range p.Steps() {
		if err := w.Write([]string{s.Component, s.Interface, s.Name}); err != nil {
			return nil, fmt.Errorf("cannot write a plan as CSV: %w", err)
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

// Text returns a readable report of the plan's outcome.
func (o *Outcome) Text(application string) []byte {
	var b bytes.Buffer
	allowed := fmt.Sprintf("all %d steps are allowed", len(o.Steps))
	switch len(o.Steps) {
	case 0:
		allowed = "there are no steps"
	case 1:
		allowed = "the step is allowed"
	}
	fmt.Fprintf(&b, "%s: %s; it ends with\n", application, allowed)
	for _, name := range sortedKeys(o.States) {
		fmt.Fprintf(&b, "  %s %s\n", name, o.States[name])
	}
	return b.Bytes()
}

// maxPlan bounds a plan that is read, in bytes.
const maxPlan = 16 << 20

// Read reads a plan in either of TosKer's formats: a line is
// component:Interface.operation, or component,Interface,operation. Empty lines,
// and lines that begin with "#", are skipped. lines has the line number of each
// operation. The error names every malformed line.
func Read(r io.Reader) (operations []Operation, lines []int, err error) {
	data, err := io.ReadAll(io.LimitReader(r, maxPlan+1))
	if err != nil {
		return nil, nil, err
	}
	if len(data) > maxPlan {
		return nil, nil, fmt.Errorf("the plan has more than %d bytes", maxPlan)
	}
	var errs []error
	n := 0
	for line := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		op, err := readLine(line)
		if err != nil {
			errs = append(errs, &LineError{n, err})
			continue
		}
		operations, lines = append(operations, op), append(lines, n)
	}
	return operations, lines, errors.Join(errs...)
}

// LineError is the error for a malformed line of a plan.
type LineError struct {
	Line int
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

func (e *LineError) Unwrap() error { return e.Err }

func readLine(line string) (Operation, error) {
	if !strings.Contains(line, ",") {
		return ParseOperation(line)
	}
	fields, err := csv.NewReader(strings.NewReader(line)).Read()
	if err != nil || len(fields) != 3 {
		return Operation{}, fmt.Errorf("%q is not component,interface,operation", line)
	}
	for i := range fields {
		if fields[i] = strings.TrimSpace(fields[i]); fields[i] == "" {
			return Operation{}, fmt.Errorf("%q is not component,interface,operation", line)
		}
	}
	return Operation{fields[0], protocol.Operation{Interface: fields[1], Name: fields[2]}}, nil
}
