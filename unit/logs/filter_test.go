package logs

import (
	"bytes"
	"strings"
	"testing"
)

// filtered is what came of a stream: in the log, passed on, and captured.
type filtered struct{ log, passed, captured string }

func filter(o FilterOptions, pieces ...string) filtered {
	var log, passed bytes.Buffer
	var captured []string
	o.Captured = func(data []byte) { captured = append(captured, string(data)) }
	f := NewFilter(o)
	sink := f.Sink(&log)
	f.Pass(writerFunc(func(p []byte) (int, error) {
		passed.Write(p)
		return sink.Write(p)
	}))
	for _, piece := range pieces {
		_, _ = f.Write([]byte(piece))
	}
	f.Flush()
	return filtered{log.String(), passed.String(), strings.Join(captured, "|")}
}

type writerFunc func(p []byte) (int, error)

func (w writerFunc) Write(p []byte) (int, error) { return w(p) }

func TestAFilterTakesEscapesAndCapturedOutputOutOfALog(t *testing.T) {
	t.Parallel()
	const begin, end = "<!--XSUPERVISOR:BEGIN-->", "<!--XSUPERVISOR:END-->"
	strip, capture := FilterOptions{StripANSI: true}, FilterOptions{CaptureMax: 4}
	both := FilterOptions{StripANSI: true, CaptureMax: 100}
	for name, c := range map[string]struct {
		o    FilterOptions
		in   string
		want filtered
	}{
		"nothing to strip":         {strip, "plain\n", filtered{"plain\n", "plain\n", ""}},
		"colors":                   {strip, "\x1b[1;31mred\x1b[0m\n", filtered{"red\n", "red\n", ""}},
		"an escape without an end": {strip, "a\x1b[12345", filtered{"a", "a", ""}},
		"a lone escape":            {strip, "a\x1bb\x1b", filtered{"a\x1bb\x1b", "a\x1bb\x1b", ""}},
		"nothing to capture":       {capture, "plain <!--X\n", filtered{"plain <!--X\n", "plain <!--X\n", ""}},
		"captured":                 {capture, "a" + begin + "xyz" + end + "b", filtered{"ab", "axyzb", "xyz"}},
		"more than is kept":        {capture, begin + "uvwxyz" + end, filtered{"", "uvwxyz", "wxyz"}},
		"twice":                    {capture, begin + "1" + end + begin + "2" + end, filtered{"", "12", "1|2"}},
		"nothing captured":         {capture, begin + end + ".", filtered{".", ".", ""}},
		"no end":                   {capture, "a" + begin + "xyz", filtered{"a", "axyz", ""}},
		"an end without a begin":   {capture, "a" + end, filtered{"a" + end, "a" + end, ""}},
		"the beginning of a mark":  {capture, "a" + begin[:10], filtered{"a" + begin[:10], "a" + begin[:10], ""}},
		"an escape in a mark":      {both, "a<!--X\x1b[mSUPERVISOR:BEGIN-->\x1b[31mx" + end, filtered{"a", "ax", "x"}},
	} {
		if got := filter(c.o, c.in); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
		if got := filter(c.o, strings.Split(c.in, "")...); got != c.want {
			t.Errorf("%s, byte by byte: %+v, want %+v", name, got, c.want)
		}
	}
}
