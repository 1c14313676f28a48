package release

import (
	"encoding/json"
	"slices"
	"time"
)

// Record is one deployment of a release.
type Record struct {
	Release string    `json:"release"`           // its ID
	At      time.Time `json:"at"`                // informational: Number decides the order
	By      string    `json:"by"`                // USER@HOST
	Folder  string    `json:"folder"`            // on the host in By
	Before  string    `json:"before,omitempty"`  // the release that a rollback returns to; empty: none
	Kind    string    `json:"kind,omitempty"`    // Rollback; empty: a deployment
	Number  int       `json:"number,omitempty"`  // sequence number of the deployment; 0: written by an earlier version of toskose
	Pending bool      `json:"pending,omitempty"` // the deployment has begun but is not recorded as completed
}

// Rollback is the kind of a record of a rollback.
const Rollback = "rollback"

// Log lists the records of an application, the newest last. The last record may be pending: a deployment adds it before it
// changes a container.
type Log []Record

// maxRecords is the maximum number of records in a log, to keep labels small.
const maxRecords = 10

// Current returns the newest record, which may be pending.
func (l Log) Current() (Record, bool) {
	if len(l) == 0 {
		return Record{}, false
	}
	return l[len(l)-1], true
}

// Completed returns the newest record that is not pending: the release that ran before an interrupted deployment.
func (l Log) Completed() (Record, bool) {
	for _, r := range slices.Backward(l) {
		if !r.Pending {
			return r, true
		}
	}
	return Record{}, false
}

// Interrupted returns the newest record if it is pending.
func (l Log) Interrupted() (Record, bool) {
	r, ok := l.Current()
	return r, ok && r.Pending
}

// Begin returns the log with a new pending record. It removes the oldest record of a full log, and pending records of the same
// release, which this deployment resumes. Before is the release that ran; for a rollback, it is the predecessor of the release
// that the rollback returns to.
func (l Log) Begin(r Record) Log {
	completed, ok := l.Completed()
	newest, _ := l.Current()
	r.Number, r.Pending = newest.Number+1, true
	switch {
	case r.Kind == Rollback:
		to, _ := l.Find(r.Release)
		r.Before = to.Before
	case ok && completed.Release == r.Release:
		r.Before = completed.Before
	case ok:
		r.Before = completed.Release
	}
	resumed := func(o Record) bool { return o.Pending && o.Release == r.Release }
	l = append(slices.DeleteFunc(slices.Clone(l), resumed), r)
	return l[max(0, len(l)-maxRecords):]
}

// Complete returns the log with its newest record no longer pending.
func (l Log) Complete() Log {
	l = slices.Clone(l)
	if len(l) > 0 {
		l[len(l)-1].Pending = false
	}
	return l
}

// Abandon returns the log without the pending records at its end.
func (l Log) Abandon() Log {
	for _, ok := l.Interrupted(); ok; _, ok = l.Interrupted() {
		l = l[:len(l)-1]
	}
	return l
}

// Find returns the newest completed record of a release, or else its newest pending one.
func (l Log) Find(id string) (Record, bool) {
	var found Record
	for _, r := range slices.Backward(l) {
		switch {
		case r.Release != id:
		case !r.Pending:
			return r, true
		case found.Release == "":
			found = r
		}
	}
	return found, found.Release != ""
}

// Before returns the record of the release that a rollback returns to. An interrupted rollback is resumed: it returns to the
// same release.
func (l Log) Before() (Record, bool) {
	current, ok := l.Current()
	before := current.Before
	if current.Pending && current.Kind == Rollback {
		before = current.Release
	}
	if !ok || before == "" {
		return Record{}, false
	}
	return l.Find(before)
}

// Newest returns the log whose last record is the newest.
func Newest(logs ...Log) Log {
	var newest Log
	for _, l := range logs {
		a, ok := l.Current()
		if b, _ := newest.Current(); ok && (len(newest) == 0 || a.isNewer(b)) {
			newest = l
		}
	}
	return newest
}

// isNewer compares record numbers, which do not depend on clocks. A completed record is newer than the same record while it
// was pending.
func (r Record) isNewer(other Record) bool {
	switch {
	case r.Number == 0 || other.Number == 0 || r.Number == other.Number && r.Pending == other.Pending:
		return r.At.After(other.At)
	case r.Number == other.Number:
		return other.Pending
	}
	return r.Number > other.Number
}

// Label is the label of a Swarm's services, and the annotation of Kubernetes workloads, that contains a log.
const Label = "io.toskose.releases"

// Encode returns a log as the value of a label.
func (l Log) Encode() string {
	data, err := json.Marshal(l)
	if err != nil {
		panic(err) // cannot fail for plain data
	}
	return string(data)
}

// Decode decodes the value of a label. It returns nil for an invalid value.
func Decode(text string) Log {
	var l Log
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return nil
	}
	return l
}
