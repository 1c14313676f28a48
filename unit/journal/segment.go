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

// segment is a file of entries. Its index only grows, so that a copy remains
// valid for reading while the journal is written.
type segment struct {
	name  string
	size  int64 // of the valid lines
	head  int64 // size of the checkpoint, which does not count for rotation
	index []place
}

// place is the position of an entry in a segment.
type place struct {
	seq   uint64
	start int64
}

func (s *segment) add(seq uint64, length int64) {
	s.index = append(s.index, place{seq, s.size})
	s.size += length
}

// after returns the index of the first entry after a number.
func (s *segment) after(seq uint64) int {
	return sort.Search(len(s.index), func(i int) bool { return s.index[i].seq > seq })
}

// end returns where an entry's line ends, or the bad lines after it, which are
// skipped when it is decoded.
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

// checksumForm is the last member of each line: the CRC-32 of what is before it.
const checksumForm = `,"crc":"%08x"}`

// sealed returns a JSON object as a line that has its checksum.
func sealed(object []byte) []byte {
	object = object[:len(object)-1]
	return fmt.Appendf(object, checksumForm+"\n", crc32.ChecksumIEEE(object))
}

// intact reports whether a line is as it was sealed.
func intact(line []byte) bool {
	end := len(line) - len(fmt.Sprintf(checksumForm, 0))
	return end > 0 && string(line[end:]) == fmt.Sprintf(checksumForm, crc32.ChecksumIEEE(line[:end]))
}

// sequence returns the number of a line that is an intact entry. It does not
// decode the rest, which would take long for a whole journal.
func sequence(line []byte) (uint64, bool) {
	rest, ok := bytes.CutPrefix(line, linePrefix)
	digits, _, found := bytes.Cut(rest, []byte(","))
	if !ok || !found || !intact(line) {
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

// damage is what a scan found wrong with a segment.
type damage struct {
	lines int   // unreadable, with a valid one after them
	torn  int64 // bytes after the last valid line
}

// scan finds the valid lines of a segment: those that are complete, that check
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
			s.index = append(s.index, place{seq, start})
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
