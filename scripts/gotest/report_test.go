package main

import (
	"errors"
	"strings"
	"testing"
)

// told folds events and gives what is said of them, with the exit code.
func told(ci bool, events ...string) (string, int) {
	var out strings.Builder
	r := newReport(&out)
	for _, e := range events {
		r.line([]byte(e))
	}
	code := r.close(ci)
	return out.String(), code
}

func TestASkippedTestIsToldWithItsReasonAndFailsInCIOnly(t *testing.T) {
	t.Parallel()
	events := []string{
		`{"Action":"output","Package":"p","Test":"TestEngine","Output":"=== RUN   TestEngine\n"}`,
		`{"Action":"output","Package":"p","Test":"TestEngine","Output":"    x_test.go:12: no Docker engine: nothing answers\n"}`,
		`{"Action":"output","Package":"p","Test":"TestEngine","Output":"--- SKIP: TestEngine (0.00s)\n"}`,
		`{"Action":"skip","Package":"p","Test":"TestEngine"}`,
		`{"Action":"pass","Package":"p","Test":"TestOther"}`,
		`{"Action":"pass","Package":"p","Elapsed":0.5}`,
	}
	said, code := told(false, events...)
	if code != 0 || !strings.Contains(said, "no Docker engine: nothing answers\n    TestEngine\n") ||
		!strings.HasSuffix(said, "\n1 passed, 0 failed, 1 skipped\n") {
		t.Errorf("code %d, said:\n%s", code, said)
	}
	if _, code = told(true, events...); code != 1 {
		t.Errorf("in CI the code is %d, want 1", code)
	}
}

func TestAFailedTestIsShownWithItsOutput(t *testing.T) {
	t.Parallel()
	said, code := told(false,
		`{"Action":"output","Package":"p","Test":"TestX","Output":"    x_test.go:3: got 1\n"}`,
		`{"Action":"fail","Package":"p","Test":"TestX","Elapsed":0.1}`,
		`{"Action":"fail","Package":"p"}`)
	if code != 1 || !strings.Contains(said, "got 1") || !strings.Contains(said, "0 passed, 1 failed, 0 skipped") {
		t.Errorf("code %d, said:\n%s", code, said)
	}
}

func TestAPackageThatEndedWithoutAFailedTestIsAFailure(t *testing.T) {
	t.Parallel()
	said, code := told(false,
		`{"Action":"output","Package":"p","Test":"TestX","Output":"panic: boom\n"}`,
		`{"Action":"fail","Package":"p"}`)
	if code != 1 || !strings.Contains(said, "panic: boom") || !strings.Contains(said, "Not built, or ended early: p") {
		t.Errorf("code %d, said:\n%s", code, said)
	}
}

func TestALineMayBeVeryLongAndTheLastNeedNoEnd(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	r := newReport(&out)
	long := strings.Repeat("x", 20<<20)
	err := r.read(strings.NewReader(`{"Action":"output","Package":"p","Test":"TestX","Output":"` + long + `"}` + "\n" +
		`{"Action":"fail","Package":"p","Test":"TestX"}` + "\n" + `{"Action":"fail","Package":"p"}`))
	if code := r.close(false); err != nil || code != 1 || !strings.Contains(out.String(), long) || !strings.Contains(out.String(), "FAIL  p (") {
		t.Errorf("code %d, %v, %d bytes", code, err, out.Len())
	}
}

func TestARunThatCouldNotBeMadeIsAFailure(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	r := newReport(&out)
	r.broke(errors.New("cannot test: no go"))
	if code := r.close(false); code != 1 || !strings.Contains(out.String(), "no go") {
		t.Errorf("code %d, said:\n%s", code, out.String())
	}
}
