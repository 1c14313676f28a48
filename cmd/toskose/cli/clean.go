package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"unicode/utf8"

	"github.com/toskose/toskose/internal/visible"
)

// Clean returns a writer for untrusted text: names, log lines, error messages. It replaces
// everything that a terminal would interpret instead of displaying: control characters, escape
// sequences and bidirectional marks. Line ends and tabs stay.
func Clean(w io.Writer) io.Writer {
	if cleaned, ok := w.(*cleaner); ok {
		return cleaned
	}
	return &cleaner{w: w}
}

type cleaner struct {
	w    io.Writer
	rest []byte // the beginning of a character whose end has not been written yet
}

func (c *cleaner) Write(text []byte) (int, error) {
	all := append(c.rest, text...)
	end := len(all)
	for i := 1; i < utf8.UTFMax && i <= len(all); i++ {
		if first := all[len(all)-i]; utf8.RuneStart(first) {
			if !utf8.FullRune(all[len(all)-i:]) {
				end = len(all) - i
			}
			break
		}
	}
	c.rest = append([]byte(nil), all[end:]...)
	if _, err := io.WriteString(c.w, visible.Lines(string(all[:end]))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// WriteJSON writes a value as JSON, in one line or indented. It escapes characters that a terminal
// does not display, which keeps the value unchanged.
func WriteJSON(w io.Writer, value any, indent string) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	_, err := w.Write(visible.JSON(text.Bytes()))
	return err
}
