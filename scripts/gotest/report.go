package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// slow is the minimum duration, in seconds, of passed tests that are printed.
const slow = 5

// event is a line of `go test -json` (go doc test2json).
type event struct {
	Action     string
	Package    string
	ImportPath string // of an event with the action build-output
	Test       string
	Elapsed    float64 // seconds
	Output     string
}

// report accumulates the events of a run.
type report struct {
	out     io.Writer
	output  map[string][]string // by package, or package and test, while it runs
	passed  int
	failed  int
	skipped map[string][]string // by reason: the tests
	broken  []string            // packages that failed without a failed test
	failing map[string]bool     // packages with a failed test

	failures map[failure]int    // failed top-level tests, with the number of their failures
	raced    bool               // the race detector reported a race
	first    map[failure]string // the output of the first failure
	repeated []failure          // tests that failed, and passed when rerun separately
}

func newReport(out io.Writer) *report {
	return &report{out: out, output: map[string][]string{}, skipped: map[string][]string{}, failing: map[string]bool{}, failures: map[failure]int{}, first: map[failure]string{}}
}

// broke records that go test could not run.
func (r *report) broke(err error) {
	r.failed++
	fmt.Fprintf(r.out, "FAIL  %v\n", err)
}

// read reads the output of a run to its end, with lines of any length: the run would block on
// unread output.
func (r *report) read(run io.Reader) error {
	for lines := bufio.NewReader(run); ; {
		line, err := lines.ReadBytes('\n')
		if line = bytes.TrimSuffix(line, []byte("\n")); len(line) > 0 {
			r.line(line)
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// line records one line of the output.
func (r *report) line(data []byte) {
	var e event
	if json.Unmarshal(data, &e) != nil {
		fmt.Fprintf(r.out, "%s\n", data) // a message of the go command
		return
	}
	key := e.Package + " " + e.Test
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "output":
		r.raced = r.raced || strings.Contains(e.Output, "WARNING: DATA RACE")
		r.output[key] = append(r.output[key], e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.packageEnded(e)
		} else {
			r.testEnded(e, key)
		}
		delete(r.output, key)
	}
}

func (r *report) testEnded(e event, key string) {
	switch e.Action {
	case "pass":
		r.passed++
		if e.Elapsed >= slow {
			fmt.Fprintf(r.out, "      %s (%.1fs)\n", e.Test, e.Elapsed)
		}
	case "fail":
		r.failed++
		r.failing[e.Package] = true
		text := fmt.Sprintf("FAIL  %s %s (%.1fs)\n", e.Package, e.Test, e.Elapsed)
		for _, line := range r.output[key] {
			if !strings.HasPrefix(line, "=== ") {
				text += "      " + line
			}
		}
		fmt.Fprint(r.out, text)
		top, _, _ := strings.Cut(e.Test, "/")
		r.failures[failure{e.Package, top}]++
		r.first[failure{e.Package, top}] += text
	case "skip":
		why := reason(r.output[key])
		r.skipped[why] = append(r.skipped[why], e.Test)
	}
}

func (r *report) packageEnded(e event) {
	switch {
	case e.Action == "pass":
		fmt.Fprintf(r.out, "ok    %s (%.1fs)\n", e.Package, e.Elapsed)
	case e.Action == "fail" && r.failing[e.Package]:
		fmt.Fprintf(r.out, "FAIL  %s (%.1fs)\n", e.Package, e.Elapsed)
	case e.Action == "fail": // the build failed, or the tests ended by a panic, an exit or a timeout
		r.failed++
		r.broken = append(r.broken, e.Package)
		fmt.Fprintf(r.out, "FAIL  %s\n", e.Package)
		for key, lines := range r.output {
			if strings.HasPrefix(key, e.Package+" ") {
				fmt.Fprint(r.out, strings.Join(lines, ""))
			}
		}
	}
	maps.DeleteFunc(r.output, func(key string, _ []string) bool { return strings.HasPrefix(key, e.Package+" ") })
}

// reason returns the message of a skipped test, without its position.
func reason(output []string) string {
	for _, line := range output {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ") {
			continue
		}
		if _, said, found := strings.Cut(line, ".go:"); found {
			if _, said, found = strings.Cut(said, ": "); found {
				return said
			}
		}
		return line
	}
	return "no reason given"
}

// close prints the final lines and returns the exit code.
func (r *report) close(ci bool) int {
	left := 0
	for _, tests := range r.skipped {
		left += len(tests)
	}
	fmt.Fprintln(r.out)
	if left > 0 {
		fmt.Fprintln(r.out, "Left out:")
		for _, why := range slices.Sorted(maps.Keys(r.skipped)) {
			fmt.Fprintf(r.out, "  %s\n    %s\n", why, names(r.skipped[why]))
		}
	}
	if len(r.broken) > 0 {
		fmt.Fprintf(r.out, "Not built, or ended early: %s\n", strings.Join(r.broken, ", "))
	}
	if len(r.repeated) > 0 {
		fmt.Fprintln(r.out, "REPEATED: these tests failed, and passed when rerun separately. Fix them: they depend on load or on other tests.")
		for _, f := range r.repeated {
			fmt.Fprintf(r.out, "  %s failed at first with:\n%s", f, r.first[f])
		}
	}
	if left > 0 && ci {
		fmt.Fprintln(r.out, "In CI all tests must run: skipped tests are failures.")
	}
	fmt.Fprintf(r.out, "%d passed, %d failed, %d skipped, %d repeated\n", r.passed, r.failed, left, len(r.repeated))
	if r.failed > 0 || left > 0 && ci {
		return 1
	}
	return 0
}

// names formats the names of tests in one line of limited length.
func names(tests []string) string {
	const shown = 6
	if len(tests) > shown {
		return fmt.Sprintf("%s and %d more", strings.Join(tests[:shown], ", "), len(tests)-shown)
	}
	return strings.Join(tests, ", ")
}
