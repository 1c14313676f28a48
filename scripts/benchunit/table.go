package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

// dimension determines the format of a value, and whether less or more is better.
type dimension int

const (
	bytesOf    dimension = iota // fewer are better
	seconds                     // fewer are better
	throughput                  // bytes per second: more are better
)

// measure is one line of the table.
type measure struct {
	name  string
	what  dimension
	goal  string
	runs  int
	tini  bool // also measured for tini
	takes func(c contender, dir string) (float64, error)
}

type line struct {
	measure measure
	samples map[string][]float64
}

type table struct {
	contenders []contender
	lines      []line
}

// measure takes the samples of one line, alternating between the contenders, so that other load on
// the machine affects all of them alike.
func (t *table) measure(dir string, m measure) error {
	l := line{measure: m, samples: map[string][]float64{}}
	for range m.runs {
		for _, c := range t.contenders {
			if !c.speaks && !m.tini {
				continue
			}
			value, err := m.takes(c, dir)
			if errors.Is(err, errNotApplicable) {
				continue
			}
			if err != nil {
				return fmt.Errorf("%s, %s: %w", m.name, c.name, err)
			}
			l.samples[c.name] = append(l.samples[c.name], value)
		}
	}
	t.lines = append(t.lines, l)
	return nil
}

// print writes medians with their extremes, and how many times better the unit is.
func (t *table) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "median (min to max)\tgoal")
	for i, c := range t.contenders {
		fmt.Fprintf(w, "\t%s", c.name)
		if i > 0 {
			fmt.Fprint(w, "\tratio")
		}
	}
	fmt.Fprintln(w)
	for _, l := range t.lines {
		fmt.Fprintf(w, "%s\t%s", l.measure.name, l.measure.goal)
		unit := l.samples[t.contenders[0].name]
		for i, c := range t.contenders {
			fmt.Fprintf(w, "\t%s", l.measure.what.cell(l.samples[c.name]))
			if i > 0 {
				fmt.Fprintf(w, "\t%s", l.measure.what.ratio(unit, l.samples[c.name]))
			}
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush()
	fmt.Fprintln(out, "\nratio: how many times better the unit is; below 1, it is worse")
	fmt.Fprintln(out, "size of supervisord: its package, the Python interpreter and the loaded modules, without the C library")
}

func (d dimension) cell(samples []float64) string {
	if len(samples) == 0 {
		return "-"
	}
	if len(samples) == 1 {
		return d.write(samples[0])
	}
	return fmt.Sprintf("%s (%s to %s)", d.write(median(samples)), d.write(slices.Min(samples)), d.write(slices.Max(samples)))
}

func (d dimension) ratio(unit, other []float64) string {
	if len(unit) == 0 || len(other) == 0 {
		return "-"
	}
	ratio := median(other) / median(unit)
	if d == throughput {
		ratio = 1 / ratio
	}
	return fmt.Sprintf("%.*f", max(0, 2-int(math.Log10(max(ratio, 1)))), ratio)
}

func (d dimension) write(value float64) string {
	switch d {
	case bytesOf:
		return fmt.Sprintf("%.2f MB", value/1e6)
	case throughput:
		return fmt.Sprintf("%.0f MB/s", value/1e6)
	case seconds:
	}
	switch {
	case value < 1e-3:
		return fmt.Sprintf("%.0f µs", value*1e6)
	case value < 1:
		return fmt.Sprintf("%.*f ms", max(0, 2-int(math.Log10(value*1e3))), value*1e3)
	}
	return fmt.Sprintf("%.2f s", value)
}

func median(samples []float64) float64 {
	sorted := slices.Sorted(slices.Values(samples))
	middle := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[middle-1] + sorted[middle]) / 2
	}
	return sorted[middle]
}

// program returns the section of a program that is neither started nor restarted automatically.
func program(name, command string, more ...string) string {
	return fmt.Sprintf("[program:%s]\ncommand=%s\nautostart=false\nautorestart=false\nstartsecs=0\n%s\n", name, command, strings.Join(more, "\n"))
}
