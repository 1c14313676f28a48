package wire

import "time"

// LogsRequest asks for several logs of processes as one.
type LogsRequest struct {
	Instance string      `json:"instance,omitempty"` // that is meant; empty: any
	Logs     []LogWanted `json:"logs"`
	Since    time.Time   `json:"since,omitzero"`   // of logs without a cursor: what was written then or later
	Last     int         `json:"last,omitempty"`   // and at most so many lines, up to 10,000; -1: none that is there
	Follow   bool        `json:"follow,omitempty"` // and what is written from now on
}

// LogWanted is one of them.
type LogWanted struct {
	Process string `json:"process"` // GROUP:NAME
	Stream  Stream `json:"stream"`
	After   string `json:"after,omitempty"` // a cursor; empty: from where the request says
}

// LogChunk begins each part of the answer: a line of JSON, which so many bytes of a
// log follow as they were written. They are of one file, so that the cursor of each
// of them is that of the first plus its distance from it.
type LogChunk struct {
	Log   int       `json:"log"` // by its place in the request
	At    string    `json:"at,omitempty"`
	Time  time.Time `json:"time,omitzero"`
	Bytes int       `json:"bytes,omitempty"`
	Gap   bool      `json:"gap,omitempty"`   // something before them is missing, or may be
	Lost  int64     `json:"lost,omitempty"`  // how many bytes, if that is known
	Live  bool      `json:"live,omitempty"`  // there is no more now; of no log, and sent every few seconds
	Quiet bool      `json:"quiet,omitempty"` // and was none for two seconds
}
