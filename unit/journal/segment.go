package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/toskose/toskose/unit/wire"
)

const (
	instanceName  = "instance"
	segmentSuffix = ".jsonl"
	noSeq         = 1 << 63 // more entries than there will ever be
)

// segment is a file of entries. Its index grows, and nothing in it changes, so
// a copy of it stays good to read by while the journal is written.
type segment struct {
	name  string
	size  int64 // of the good lines
	head  int64 // of the checkpoint, which does not count for rotation
	index []place
}

// place is where an entry stands in a segment.
type place struct {
	seq   uint64
	start int64
}

func (s *segment) add(seq uint64, length int64) {
	s.index = append(s.index, place{seq, s.size})
	s.size += length
}

// after gives the index of the first entry behind a number.
func (s *segment) after(seq uint64) int {
	return sort.Search(len(s.index), func(i int) bool { return s.index[i].seq > seq })
}

// end gives where an entry's line ends, if the line after it is good; a bad
// line in between is passed over when it is decoded.
func (s *segment) end(i int) int64 {
	if i+1 < len(s.index) {
		return s.index[i+1].start
	}
	return s.size
}

// segmentName gives a name whose order is that of the numbers.
func segmentName(first uint64) string { return fmt.Sprintf("%020d%s", first, segmentSuffix) }

func isSegment(name string) bool {
	digits, ok := strings.CutSuffix(name, segmentSuffix)
	return ok && len(digits) == 20 && strings.Trim(digits, "0123456789") == ""
}

// linePrefix begins each line: wire.Entry has seq as its first field.
var linePrefix = []byte(`{"seq":`)

// glance reads the number of a line that looks like an entry. It does not
// decode the rest, which for a whole journal takes long.
func glance(line []byte) (uint64, bool) {
	rest, ok := bytes.CutPrefix(line, linePrefix)
	digits, _, found := bytes.Cut(rest, []byte(","))
	if !ok || !found || !bytes.HasSuffix(line, []byte("}")) {
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

// decodeAny reads a line of whatever journal.
func decodeAny(line []byte) (wire.Entry, bool) {
	var e wire.Entry
	seq, ok := glance(line)
	if !ok || json.Unmarshal(line, &e) != nil {
		return e, false
	}
	return e, e.Seq == seq && e.Kind != ""
}

// damage is what a scan found wrong with a segment.
type damage struct {
	lines int   // that cannot be read, though a good one follows
	torn  int64 // bytes after the last good line
}

// scan finds the good lines of a segment: those that are complete, that check
// accepts, and whose numbers rise and stay below that of the next segment.
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
