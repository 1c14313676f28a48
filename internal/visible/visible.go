// Package visible makes texts from elsewhere safe to print on a terminal. It starts no goroutine.
package visible

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text replaces characters that a terminal would interpret instead of displaying: control
// characters except tabs, bidirectional marks and invisible characters. It keeps joiners.
func Text(s string) string { return shown(s, "\t") }

// Lines is Text for a text of several lines.
func Lines(s string) string { return shown(s, "\t\n") }

func shown(s, kept string) string {
	return strings.Map(func(r rune) rune {
		if hidden(r) && !strings.ContainsRune(kept, r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

func hidden(r rune) bool {
	const nonJoiner, joiner, lines, paragraphs = '\u200c', '\u200d', '\u2028', '\u2029'
	switch {
	case r < 0x7f:
		return r < ' '
	case r == lines || r == paragraphs || r == 0xfffe || r == 0xffff: // the last two are not characters, and not for XML
		return true
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != joiner && r != nonJoiner
}

// JSON escapes such characters in JSON, which keeps its meaning and makes it safe to display.
func JSON(data []byte) []byte {
	if bytes.IndexFunc(data, escaped) < 0 {
		return data
	}
	var b bytes.Buffer
	for _, r := range string(data) {
		switch {
		case !escaped(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.Bytes()
}

// escaped are the hidden characters that encoding/json leaves as they are.
func escaped(r rune) bool { return r >= 0x7f && r != utf8.RuneError && hidden(r) }
