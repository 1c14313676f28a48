package main

import (
	"errors"
	"strings"
	"testing"
)

// told reports events and returns the output and the exit code.
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
		!strings.HasSuffix(said, "\n1 passed, 0 failed, 1 skipped, 0 repeated\n") {
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
	if code != 1 || !strings.Contains(said, "got 1") || !strings.Contains(said, "0 passed, 1 failed, 0 skipped, 0 repeated") {
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

// failedOnce is a report of a run in which a test of each package failed, with one of its
// subtests.
func failedOnce(out *strings.Builder, packages ...string) *report {
	r := newReport(out)
	for _, p := range packages {
		for _, e := range []string{
			`{"Action":"output","Package":"` + p + `","Test":"TestX/of_it","Output":"x_test.go:3: got 1\n"}`, `{"Action":"fail","Package":"` + p + `","Test":"TestX/of_it"}`, `{"Action":"fail","Package":"` + p + `","Test":"TestX"}`,
			`{"Action":"pass","Package":"` + p + `","Test":"TestY"}`, `{"Action":"fail","Package":"` + p + `"}`,
		} {
			r.line([]byte(e))
		}
	}
	return r
}

func TestWhatFailedAmongOthersAndPassesAloneIsNamed(t *testing.T) {
	t.Parallel()
	passes := func(f failure, to *report) error {
		to.line([]byte(`{"Action":"pass","Package":"` + f.pkg + `","Test":"TestX/of_it"}`))
		to.line([]byte(`{"Action":"pass","Package":"` + f.pkg + `","Test":"TestX"}`))
		return nil
	}
	fails := func(f failure, to *report) error {
		to.line([]byte(`{"Action":"fail","Package":"` + f.pkg + `","Test":"TestX"}`))
		return nil
	}
	race := `{"Action":"output","Package":"p","Test":"TestX","Output":"WARNING: DATA RACE\n"}`
	early := `{"Action":"fail","Package":"broken"}`
	for name, c := range map[string]struct {
		packages []string
		more     string // an additional event of the first run
		run      func(failure, *report) error
		code     int
		last     string
	}{
		"it passes":              {[]string{"p"}, "", passes, 0, "3 passed, 0 failed, 0 skipped, 1 repeated\n"},
		"it fails again":         {[]string{"p"}, "", fails, 1, "1 passed, 2 failed, 0 skipped, 0 repeated\n"},
		"nothing of it runs":     {[]string{"p"}, "", func(failure, *report) error { return nil }, 1, "1 passed, 2 failed, 0 skipped, 0 repeated\n"},
		"it cannot be run":       {[]string{"p"}, "", func(failure, *report) error { return errors.New("no go") }, 1, "1 passed, 2 failed, 0 skipped, 0 repeated\n"},
		"two":                    {[]string{"p", "q"}, "", passes, 0, "6 passed, 0 failed, 0 skipped, 2 repeated\n"},
		"too many":               {[]string{"p", "q", "r"}, "", passes, 1, "3 passed, 6 failed, 0 skipped, 0 repeated\n"},
		"a race":                 {[]string{"p"}, race, passes, 1, "1 passed, 2 failed, 0 skipped, 0 repeated\n"},
		"another that was ended": {[]string{"p"}, early, passes, 1, "1 passed, 3 failed, 0 skipped, 0 repeated\n"},
	} {
		var out strings.Builder
		r := failedOnce(&out, c.packages...)
		if c.more != "" {
			r.line([]byte(c.more))
		}
		r.again(2, c.run, &out)
		if code := r.close(true); code != c.code || !strings.HasSuffix(out.String(), c.last) {
			t.Errorf("%s: code %d, said:\n%s", name, code, out.String())
		}
		_, repeated, _ := strings.Cut(out.String(), "REPEATED: ")
		if named := strings.Contains(repeated, "p TestX failed at first with:\n") && strings.Contains(repeated, "got 1"); named != (c.code == 0) {
			t.Errorf("%s: it is named as such: %v, in\n%s", name, named, out.String())
		}
	}
}

func TestOneTestIsRunAsTheOthersWere(t *testing.T) {
	t.Parallel()
	got := alone([]string{"-race", "-p", "4", "-run", "A|B", "-timeout", "1h", "./e2e", "./..."}, failure{"example.org/p", "TestX"})
	if want := "-race -p 4 -timeout 1h -count=1 -run ^TestX$ example.org/p"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
