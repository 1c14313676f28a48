package wire

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Document is a document that every unit of an application keeps a copy of.
type Document struct {
	Revision Revision
	Content  []byte // opaque

	// Replaces is the revision that this document replaces even if that revision is higher; zero:
	// none. A unit stores documents from any client with its password, so the manager must be able
	// to replace them.
	Replaces Revision
}

// The maximum sizes of documents, in bytes.
const (
	MaxDocumentBytes = 64 << 10
	MaxRemovedBytes  = 512 << 10 // of RemovedDocument
)

// MaxBytesOf returns the maximum size of a document.
func MaxBytesOf(name string) int {
	if name == RemovedDocument {
		return MaxRemovedBytes
	}
	return MaxDocumentBytes
}

// Revision orders documents: the higher counter wins or, if equal, the higher id.
type Revision struct {
	Counter uint64
	ID      string // random
}

// maxRevisionID bounds the id of a revision.
const maxRevisionID = 64

// ParseRevision parses COUNTER:ID; an id consists of letters and digits.
func ParseRevision(text string) (Revision, error) {
	number, id, _ := strings.Cut(text, ":")
	counter, err := strconv.ParseUint(number, 10, 64)
	odd := strings.ContainsFunc(id, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	r := Revision{counter, id}
	if err != nil || id == "" || len(id) > maxRevisionID || odd || r.String() != text {
		return Revision{}, fmt.Errorf("a revision is COUNTER:ID, and not %.100q", text)
	}
	return r, nil
}

// String returns the form that ParseRevision parses.
func (r Revision) String() string { return strconv.FormatUint(r.Counter, 10) + ":" + r.ID }

// MarshalText implements [encoding.TextMarshaler]. The zero revision is an empty text.
func (r Revision) MarshalText() ([]byte, error) {
	if r == (Revision{}) {
		return nil, nil
	}
	return []byte(r.String()), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (r *Revision) UnmarshalText(text []byte) (err error) {
	if *r = (Revision{}); len(text) > 0 {
		*r, err = ParseRevision(string(text))
	}
	return err
}

// Compare returns 1 if r wins over other, -1 if other wins over r, and 0 if they are equal.
func (r Revision) Compare(other Revision) int {
	return cmp.Or(cmp.Compare(r.Counter, other.Counter), cmp.Compare(r.ID, other.ID))
}
