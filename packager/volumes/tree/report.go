package tree

import (
	"crypto/rand"
	"encoding/hex"
)

// Data says which data a volume has.
type Data string

// The data that a volume can have after a restore.
const (
	Old Data = "old" // from before the restore
	New Data = "new" // of the restore
)

// Report is what Replace and Recover say of a volume. They write reports as JSON, a line each.
type Report struct {
	// Interrupted is the data that an interrupted restore has left, now that it is finished
	// or undone; empty: none was interrupted between its begin and its confirmation.
	Interrupted Data `json:"interrupted,omitempty"`
	// Has is the data that the volume has now; empty: the restore is not at its end.
	Has Data `json:"has,omitempty"`
	// Left says that the volume still has a folder of the restore, which Recover removes.
	Left bool `json:"left,omitempty"`
}

// NewToken returns a random token for a restore.
func NewToken() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}
