package ready

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestALineCountsWhenItHasEnded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 2*lineBytes)
	for name, c := range map[string]struct {
		pattern string
		writes  []string
		found   bool
	}{
		"a line":                       {`^ready$`, []string{"booting\nready\nmore"}, true},
		"in pieces":                    {`^ready$`, []string{"boot", "ing\nre", "ad", "y", "\n"}, true},
		"not yet ended":                {`ready`, []string{"ready"}, false},
		"two lines are not one":        {`^ready$`, []string{"re\nady\n"}, false},
		"with a carriage return":       {`^ready$`, []string{"ready\r\n"}, true},
		"bytes that are not UTF-8":     {`port \d+`, []string{"\xff\xfe port 80\n"}, true},
		"the empty line":               {`^$`, []string{"x\n", "\n"}, true},
		"the beginning of a long line": {`^x+`, []string{long, long, "\n"}, true},
		"not its end":                  {`ready$`, []string{long + "ready\n"}, false},
		"after a long line":            {`^ready$`, []string{long, "\nready\n"}, true},
		"nothing":                      {`ready`, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := NewLine(c.pattern)
			if err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			tap := l.Tap(&log)
			for _, text := range c.writes {
				if n, err := tap.Write([]byte(text)); n != len(text) || err != nil {
					t.Fatalf("wrote %d bytes: %v", n, err)
				}
			}
			if l.Met() != c.found {
				t.Errorf("found: %v", l.Met())
			}
			if log.String() != strings.Join(c.writes, "") {
				t.Error("the log has something else than was written")
			}
		})
	}
}

func TestEitherStreamMayHaveTheLine(t *testing.T) {
	t.Parallel()
	l, err := NewLine("ready")
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr := l.Tap(&bytes.Buffer{}), l.Tap(&bytes.Buffer{})
	_, _ = stdout.Write([]byte("rea"))
	_, _ = stderr.Write([]byte("dy\n"))
	if l.Met() {
		t.Error("a line of two streams is none")
	}
	waited := make(chan error, 1)
	go func() { waited <- l.Wait(t.Context()) }()
	_, _ = stdout.Write([]byte("dy\nready\n"))
	_, _ = stderr.Write([]byte("ready\n"))
	if err := <-waited; err != nil || !l.Met() {
		t.Errorf("it waits: %v", err)
	}
}

func TestATapThatNobodyWaitsForPassesOnOnly(t *testing.T) {
	t.Parallel()
	l, err := NewLine("ready")
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	tap := l.Tap(&log)
	if err := Await(within(t, 0), []Check{l}); err == nil {
		t.Error("there is a line")
	}
	_, _ = tap.Write([]byte("ready\n"))
	if l.Met() || log.String() != "ready\n" {
		t.Errorf("met: %v, log: %q", l.Met(), &log)
	}
}

func TestATapGivesTheErrorOfItsLog(t *testing.T) {
	t.Parallel()
	l, err := NewLine("ready")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Tap(full{}).Write([]byte("ready\n")); !errors.Is(err, errFull) || !l.Met() {
		t.Errorf("a full disk: %v; found: %v", err, l.Met())
	}
	if _, err := NewLine("("); err == nil {
		t.Error("( is no regular expression")
	}
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
