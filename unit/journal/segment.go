package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"sort"
	"strconv"
	"strings"

	"github.com/toskose/toskose/unit/wire"
)

const (
	instanceName  = "instance"
	segmentSuffix = ".jsonl"
	noSeq         = 1 << 63 // beyond any entry's number
)

// segment is a file of entries. Its index only grows, so a copy remains valid for reading while the
// journal is written.
type segment struct {
	name  string
	size  int64 // of the valid lines
	head  int64 // size of the checkpoint, which is ignored for rotation
	index []entryPosition
}

// entryPosition is the position of an entry in a segment.
type entryPosition struct {
	seq   uint64
	start int64
}

func (s *segment) add(seq uint64, length int64) {
	s.index = append(s.index, entryPosition{seq, s.size})
	s.size += length
}

// after returns the index of the first entry after a number.
func (s *segment) after(seq uint64) int {
	return sort.Search(len(s.index), func(i int) bool { return s.index[i].seq > seq })
}

// end returns the end of an entry's line, including invalid lines after it, which decoding skips.
func (s *segment) end(i int) int64 {
	if i+1 < len(s.index) {
		return s.index[i+1].start
	}
	return s.size
}

// segmentName returns a name that sorts by number.
func segmentName(first uint64) string { return fmt.Sprintf("%020d%s", first, segmentSuffix) }

func isSegment(name string) bool {
	digits, ok := strings.CutSuffix(name, segmentSuffix)
	return ok && len(digits) == 20 && strings.Trim(digits, "0123456789") == ""
}

// linePrefix begins each line: wire.Entry has seq as its first field.
var linePrefix = []byte(`{"seq":`)

// checksumForm is the last member of each line: the CRC-32 of the text before it.
const checksumForm = `,"crc":"%08x"}`

// withChecksum returns a JSON object as a line with its checksum.
func withChecksum(object []byte) []byte {
	object = object[:len(object)-1]
	return fmt.Appendf(object, checksumForm+"\n", crc32.ChecksumIEEE(object))
}

// checksumMatches reports whether the checksum of a line is valid.
func checksumMatches(line []byte) bool {
	end := len(line) - len(fmt.Sprintf(checksumForm, 0))
	return end > 0 && string(line[end:]) == fmt.Sprintf(checksumForm, crc32.ChecksumIEEE(line[:end]))
}

// sequence returns the number of a line that is a valid entry. It does not decode the rest, which
// would be slow for a whole journal.
func sequence(line []byte) (uint64, bool) {
	rest, ok := bytes.CutPrefix(line, linePrefix)
	digits, _, found := bytes.Cut(rest, []byte(","))
	if !ok || !found || !checksumMatches(line) {
		return 0, false
	}
	seq, err := strconv.ParseUint(string(digits), 10, 64)
	return seq, err == nil && 0 < seq && seq < noSeq
}

// decode reads a line of this journal.
func decode(line []byte, instance string) (wire.Entry, bool) {
	e, ok := decodeAny(line)
	return e, ok && instance != "" && e.Instance == instance
}

// decodeAny reads a line of any journal.
func decodeAny(line []byte) (wire.Entry, bool) {
	var e wire.Entry
	seq, ok := sequence(line)
	if !ok || json.Unmarshal(line, &e) != nil {
		return e, false
	}
	return e, e.Seq == seq && e.Kind != ""
}

// damage describes the damage of a segment.
type damage struct {
	lines int   // invalid lines before a valid one
	torn  int64 // bytes after the last valid line
}

// scan finds the valid lines of a segment: complete lines that check
// accepts, and whose numbers ascend and stay below the next segment's.
func scan(name string, data []byte, below uint64, check func(line []byte) (uint64, bool)) (*segment, damage) {
	s := &segment{name: name}
	var d damage
	bad := 0
	last := uint64(0)
	for start := int64(0); start < int64(len(data)); {
		length := bytes.IndexByte(data[start:], '\n')
		if length < 0 {
			break
		}
		end := start + int64(length) + 1
		if seq, ok := check(data[start : end-1]); ok && last < seq && seq < below {
			s.index = append(s.index, entryPosition{seq, start})
			s.size = end
			last = seq
			d.lines += bad
			bad = 0
		} else {
			bad++
		}
		start = end
	}
	d.torn = int64(len(data)) - s.size
	return s, d
}
