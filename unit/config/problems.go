package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one mistake in a configuration.
type Problem struct {
	File string // as it was opened
	Line int    // from 1; 0: the file as a whole
	Text string // a sentence that names the section and the key, and never a secret
}

// Error returns `file:line: sentence`.
func (p Problem) Error() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s", p.File, p.Text)
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
}

// Problems is the error of Load and Parse: every mistake at once, in the order
// of files and lines.
type Problems []Problem

// Error returns one line for each problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Warning reports a setting that Supervisor silently ignores, such as an unknown key. A
// configuration with warnings is valid.
type Warning Problem

// String returns `file:line: sentence`.
func (w Warning) String() string { return Problem(w).Error() }

// report collects problems and warnings. A duplicate, found for another process of
// the same program, is dropped.
type report struct {
	files    []string // in the order they were opened, which is the order of the answer
	problems []Problem
	warnings []Problem
	seen     map[Problem]bool
}

func (r *report) problem(file string, line int, format string, args ...any) {
	r.add(&r.problems, Problem{file, line, fmt.Sprintf(format, args...)})
}

func (r *report) warn(file string, line int, format string, args ...any) {
	r.add(&r.warnings, Problem{file, line, fmt.Sprintf(format, args...)})
}

func (r *report) add(to *[]Problem, p Problem) {
	if r.seen == nil {
		r.seen = map[Problem]bool{}
	}
	if !r.seen[p] {
		r.seen[p] = true
		*to = append(*to, p)
	}
}

func (r *report) sorted(ps []Problem) []Problem {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(slices.Index(r.files, a.File), slices.Index(r.files, b.File)), cmp.Compare(a.Line, b.Line))
	})
	return ps
}

// result returns the warnings, and the problems as an error.
func (r *report) result() ([]Warning, error) {
	var warnings []Warning
	for _, p := range r.sorted(r.warnings) {
		warnings = append(warnings, Warning(p))
	}
	if len(r.problems) > 0 {
		return warnings, Problems(r.sorted(r.problems))
	}
	return warnings, nil
}
