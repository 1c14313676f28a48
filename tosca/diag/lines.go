package diag

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf16"
)

// UTF8 returns a text in UTF-8: one in UTF-16 begins with a byte order mark, which
// is left out (YAML 1.2, 5.2).
func UTF8(data []byte) []byte {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe\x00\x00")): // UTF-32
		return data
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		order = binary.BigEndian
	default:
		return bytes.TrimPrefix(data, []byte("\uFEFF"))
	}
	units := make([]uint16, 0, len(data)/2)
	for i := 2; i+1 < len(data); i += 2 {
		units = append(units, order.Uint16(data[i:]))
	}
	return []byte(string(utf16.Decode(units)))
}

// lineEnds are what ends a line as positions count them: as YAML 1.1 has it, and
// so its readers (5.4).
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// Lines returns the lines of a file, without their ends.
func Lines(data []byte) []string {
	return strings.Split(lineEnds.Replace(string(UTF8(data))), "\n")
}
