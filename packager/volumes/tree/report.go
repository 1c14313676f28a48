package tree

import (
	"crypto/rand"
	"encoding/hex"
)

// Data says whether a volume has its old or its new data.
type Data string

// The data that a volume can have after a restore.
const (
	Old Data = "old" // from before the restore
	New Data = "new" // restored
)

// Report is a progress report of Replace and Recover. Reports are written as JSON, one per line.
type Report struct {
	// Interrupted is the data left by an interrupted restore that is now finished or undone. It is empty if no restore was
	// interrupted between its begin and its confirmation.
	Interrupted Data `json:"interrupted,omitempty"`
	// Has is the data in the volume. It is empty until the restore has ended.
	Has Data `json:"has,omitempty"`
	// Left says that the volume still contains the restore's folder, which Recover removes.
	Left bool `json:"left,omitempty"`
}

// NewToken returns a random token for a restore.
func NewToken() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
