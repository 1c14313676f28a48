package release

import (
	"encoding/json"
	"slices"
	"time"
)

// Record is one deployment of a release.
type Record struct {
	Release string    `json:"release"`          // its id
	At      time.Time `json:"at"`               //
	By      string    `json:"by"`               // USER@HOST
	Folder  string    `json:"folder"`           // on that host
	Before  string    `json:"before,omitempty"` // the release that a rollback leads to; empty: none
	Kind    string    `json:"kind,omitempty"`   // Rollback; empty: a deployment
}

// Rollback is the kind of a record of one that led back.
const Rollback = "rollback"

// Log are the records of an application, the newest last.
type Log []Record

// most is how many records a log has: labels are to stay small.
const most = 10

// Current returns the record of what is deployed.
func (l Log) Current() (Record, bool) {
	if len(l) == 0 {
		return Record{}, false
	}
	return l[len(l)-1], true
}

// Deployed returns the log after a deployment, without the oldest where there are many.
// The release before is the one that ran; that of a rollback, the one before where it
// leads to.
func (l Log) Deployed(r Record) Log {
	current, ok := l.Current()
	switch {
	case r.Kind == Rollback:
		to, _ := l.Find(r.Release)
		r.Before = to.Before
	case ok && current.Release == r.Release:
		r.Before = current.Before
	case ok:
		r.Before = current.Release
	}
	l = append(slices.Clone(l), r)
	return l[max(0, len(l)-most):]
}

// Find returns the newest record of a release.
func (l Log) Find(id string) (Record, bool) {
	for _, r := range slices.Backward(l) {
		if r.Release == id {
			return r, true
		}
	}
	return Record{}, false
}

// Before returns the record of the release before the one that is deployed.
func (l Log) Before() (Record, bool) {
	current, ok := l.Current()
	if !ok || current.Before == "" {
		return Record{}, false
	}
	return l.Find(current.Before)
}

// Newest returns the log with the newest last record.
func Newest(logs ...Log) Log {
	var newest Log
	for _, l := range logs {
		a, ok := l.Current()
		if b, _ := newest.Current(); ok && a.At.After(b.At) {
			newest = l
		}
	}
	return newest
}

// Label is what has a log as its value: of a Swarm's services, and, as an annotation, of
// Kubernetes' workloads.
const Label = "io.toskose.releases"

// Encode returns a log as the value of a label.
func (l Log) Encode() string {
	data, err := json.Marshal(l)
	if err != nil {
		panic(err) // it is plain data
	}
	return string(data)
}

// Decode reads the value of a label. What is no log is none.
func Decode(text string) Log {
	var l Log
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return nil
	}
	return l
}
