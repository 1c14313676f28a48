package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
)

// failure is a test that failed, with its subtests.
type failure struct{ pkg, test string }

// String names a test as messages do.
func (f failure) String() string { return f.pkg + " " + f.test }

// again reruns the failed tests, each separately, if there are at most most. A test that then
// passes depends on concurrent tests: this is a defect of the test, not of the tested code. A
// race or a package that ended early is never rerun.
func (r *report) again(most int, run func(failure, *report) error, out io.Writer) {
	if len(r.failures) > most || len(r.broken) > 0 || r.raced {
		return
	}
	for _, f := range r.sorted() {
		fmt.Fprintf(out, "again %s, alone\n", f)
		alone := newReport(out)
		if err := run(f, alone); err != nil || alone.failed > 0 || alone.raced || len(alone.skipped) > 0 || alone.passed == 0 {
			continue
		}
		r.failed -= r.failures[f]
		r.passed += r.failures[f]
		r.repeated = append(r.repeated, f)
	}
}

func (r *report) sorted() []failure {
	var all []failure
	for f := range r.failures {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b failure) int { return strings.Compare(a.String(), b.String()) })
	return all
}

// alone returns the arguments that run one test with the same flags. Package arguments start with
// a dot.
func alone(args []string, f failure) []string {
	var kept []string
	for i, arg := range args {
		if !strings.HasPrefix(arg, ".") && arg != "-run" && (i == 0 || args[i-1] != "-run") {
			kept = append(kept, arg)
		}
	}
	return append(kept, "-count=1", "-run", "^"+f.test+"$", f.pkg)
}

// runAgain returns the function that again calls.
func runAgain(ctx context.Context, args []string) func(failure, *report) error {
	return func(f failure, to *report) error { return test(ctx, alone(args, f), to) }
}
