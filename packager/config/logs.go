package config

import (
	"cmp"

	"github.com/toskose/toskose/internal/located"
)

// Room is the total size of a container's log files.
type Room struct {
	Total string `yaml:"total,omitempty" json:"total,omitempty"` // including the unit's; default: 256m, or more if needed
}

// Logs configures the rotation of an operation's log files: one file for each stream.
type Logs struct {
	Size  string `yaml:"size,omitempty" json:"size,omitempty"`   // of a file; default: a share of the container's total
	Files int    `yaml:"files,omitempty" json:"files,omitempty"` // that are kept of each, the one that is written among them; default: 3
}

// LogFile configures the rotation of a log file: its size, and the number of older files.
type LogFile struct {
	Bytes   int64
	Backups int
}

// UnitLog is the log of the unit itself.
var UnitLog = LogFile{Bytes: 4 << 20, Backups: 1}

const (
	defaultTotal = 256 << 20
	defaultFiles = 3
	leastLog     = 64 << 10
	streams      = 2
	// A file rotates once it reaches its size, so it exceeds the size by at most one read of the
	// unit. Each file has an index of times beside it: a quarter of its size or 64 KiB.
	logPiece  = 256 << 10
	indexPart = 4
	leastLine = 64 << 10
)

// room returns the maximum size of a log's files.
func (l LogFile) room() int64 {
	size := l.Bytes + logPiece
	return int64(l.Backups+1) * (size + max(size/indexPart, leastLine))
}

// LogFiles returns the rotation settings of a container's operation logs; each operation is a pair
// of COMPONENT and OPERATION. Logs without a size share the rest of the total equally. enough is
// false if the total is smaller than the needed size.
func (n Node) LogFiles(operations [][2]string) (files []LogFile, needed int64, enough bool) {
	needed = UnitLog.room()
	var sharing int64
	files = make([]LogFile, len(operations))
	for i, o := range operations {
		c := n.Components[o[0]]
		own := c.Operations[o[1]].Logs
		bytes, _ := Bytes(cmp.Or(own.Size, c.Logs.Size))
		files[i] = LogFile{bytes, cmp.Or(own.Files, c.Logs.Files, defaultFiles) - 1}
		if bytes == 0 {
			sharing += int64(files[i].Backups + 1)
		}
		needed += streams * LogFile{max(bytes, leastLog), files[i].Backups}.room()
	}
	total, given := Bytes(n.Logs.Total)
	if !given {
		total = max(defaultTotal, needed)
	}
	if needed > total {
		return nil, needed, false
	}
	if sharing > 0 {
		share := leastLog + (total-needed)/(streams*sharing)*indexPart/(indexPart+1)/4096*4096
		for i := range files {
			if files[i].Bytes == 0 {
				files[i].Bytes = share
			}
		}
	}
	return files, needed, true
}

// checkRoom reports totals that are too small for the log files of their containers.
func (d *decoder) checkRoom(c Config, target *Target) {
	for _, name := range located.Keys(c.Nodes) {
		var operations [][2]string
		for _, component := range located.Keys(target.Components) {
			if t := target.Components[component]; t.Node == name {
				for _, o := range located.Keys(t.Operations) {
					operations = append(operations, [2]string{component, o})
				}
			}
		}
		if _, needed, enough := c.Nodes[name].LogFiles(operations); !enough {
			d.ReportAt("nodes."+name+".logs.total", "%q is too little for the log files of the unit and of %d operations, which need %dm; smaller or fewer files need less",
				c.Nodes[name].Logs.Total, len(operations), (needed+1<<20-1)>>20)
		}
	}
}

func (d *decoder) checkLogs(path string, l Logs) {
	d.amount(path+".size", l.Size, leastLog)
	d.atLeastOne(path+".files", l.Files)
	if l.Files > 1000 {
		d.ReportAt(path+".files", "%d is more than 1000", l.Files)
	}
}

// amount reports text that is not a number of bytes.
func (d *decoder) amount(path, text string, least int64) {
	switch n, ok := Bytes(text); {
	case text == "":
	case !ok || n > 1<<50:
		d.ReportAt(path, "%q is not an amount: a number and b, k, m or g", text)
	case n < least:
		d.ReportAt(path, "%q is less than %dk", text, least>>10)
	}
}
