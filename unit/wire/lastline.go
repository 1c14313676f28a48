package wire

import (
	"strings"
	"unicode/utf8"
)

// LastLine returns the last line of an output that is not blank, at most LastLineBytes: that of
// stderr, or else that of stdout.
func LastLine(o Output) string {
	if line := lastLine(o.Stderr); line != "" {
		return line
	}
	return lastLine(o.Stdout)
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	line := strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
	if len(line) <= LastLineBytes {
		return line
	}
	cut := LastLineBytes - len("…")
	for !utf8.RuneStart(line[cut]) {
		cut--
	}
	return line[:cut] + "…"
}
