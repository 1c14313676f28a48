package tree

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// summaryRecord is the record of the global PAX header that ends a stream with a Summary.
const summaryRecord = "TOSKOSE.summary"

// socketRecord marks a named pipe in a stream as a socket, because tar has no type for sockets.
const socketRecord = "TOSKOSE.socket"

// Size is a number of entries, and the total bytes of the regular files among them.
type Size struct {
	Entries int   `json:"entries"`
	Bytes   int64 `json:"bytes"`
}

// Summary describes what Write has read from a folder. Counted comes from a walk that is independent of the one that wrote the
// stream.
type Summary struct {
	Written Size      `json:"written"`
	Counted Size      `json:"counted"`
	LeftOut []LeftOut `json:"left_out,omitempty"` // at most maxListed
	Unnamed int       `json:"unnamed,omitempty"`  // number of further entries that were left out
	Without Size      `json:"without"`            // all entries that were left out, listed or not
	// Changed says that another process changed the folder during the walk, so that Written
	// and Counted may differ.
	Changed bool `json:"changed,omitempty"`
}

// LeftOut is an entry, or a part of it, that a stream does not contain.
type LeftOut struct {
	Name string // relative to the folder
	Why  string
	// System says that the entry belongs to the file system: an unreadable lost+found.
	System bool
}

// Limits of the list in a Summary, which has to fit a PAX header of at most 1 MiB.
const (
	maxListed      = 1000
	maxListedBytes = 256 << 10
)

// quotedLeftOut is LeftOut in JSON, which cannot represent a name that is not UTF-8.
type quotedLeftOut struct {
	Name   string `json:"name"` // quoted by strconv.QuoteToASCII
	Why    string `json:"why"`
	System bool   `json:"system,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (l LeftOut) MarshalJSON() ([]byte, error) {
	return json.Marshal(quotedLeftOut{strconv.QuoteToASCII(l.Name), l.Why, l.System})
}

// UnmarshalJSON implements json.Unmarshaler.
func (l *LeftOut) UnmarshalJSON(text []byte) error {
	var q quotedLeftOut
	if err := json.Unmarshal(text, &q); err != nil {
		return err
	}
	name, err := strconv.Unquote(q.Name)
	*l = LeftOut{name, q.Why, q.System}
	return err
}

// leaveOut adds an entry to the summary.
func (s *Summary) leaveOut(l LeftOut, size Size) {
	s.Without.Entries += size.Entries
	s.Without.Bytes += size.Bytes
	bytes := len(l.Name)
	for _, other := range s.LeftOut {
		bytes += len(other.Name)
	}
	if len(s.LeftOut) >= maxListed || 4*bytes > maxListedBytes { // quoting makes a name at most four times as long
		s.Unnamed++
		return
	}
	s.LeftOut = append(s.LeftOut, l)
}

func parseSummary(text string) (*Summary, error) {
	var s Summary
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return nil, fmt.Errorf("cannot read the summary of the stream: %w", err)
	}
	return &s, nil
}

// Verify compares the entries and bytes that a reader received with the summary of the walk, and the walk with the independent
// count.
func (s *Summary) Verify(received Size) error {
	if received != s.Written {
		return fmt.Errorf("%d entries and %d bytes were written, and %d entries and %d bytes arrived", s.Written.Entries, s.Written.Bytes, received.Entries, received.Bytes)
	}
	with := Size{s.Written.Entries + s.Without.Entries, s.Written.Bytes + s.Without.Bytes}
	if !s.Changed && with != s.Counted {
		return fmt.Errorf("the volume has %d entries and %d bytes, and %d entries and %d bytes were read or listed as left out", s.Counted.Entries, s.Counted.Bytes, with.Entries, with.Bytes)
	}
	return nil
}
