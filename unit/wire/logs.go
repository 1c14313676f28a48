package wire

import "time"

// LogsRequest requests several logs of processes as one.
type LogsRequest struct {
	Instance string      `json:"instance,omitempty"` // the expected instance; empty: any
	Logs     []LogWanted `json:"logs"`
	Since    time.Time   `json:"since,omitzero"`   // for logs without a cursor: only data written at this time or later
	Last     int         `json:"last,omitempty"`   // and at most this many lines, up to 10,000; -1: no existing lines
	Follow   bool        `json:"follow,omitempty"` // also send future data
}

// LogWanted is one of the requested logs.
type LogWanted struct {
	Process string `json:"process"` // GROUP:NAME
	Stream  Stream `json:"stream"`
	After   string `json:"after,omitempty"` // a cursor; empty: as the request says
}

// LogChunk begins each part of the response: a line of JSON, followed by the given number of bytes
// of a log. They are from one file, so the cursor of each byte is the first cursor plus its
// distance.
type LogChunk struct {
	Log   int       `json:"log"` // index in the request
	At    string    `json:"at,omitempty"`
	Time  time.Time `json:"time,omitzero"`
	Bytes int       `json:"bytes,omitempty"`
	Gap   bool      `json:"gap,omitempty"`   // data before this chunk is missing, or may be
	Lost  int64     `json:"lost,omitempty"`  // number of missing bytes, if known
	Live  bool      `json:"live,omitempty"`  // all existing data was sent; belongs to no log, sent every few seconds
	Quiet bool      `json:"quiet,omitempty"` // nothing was written for two seconds
}
