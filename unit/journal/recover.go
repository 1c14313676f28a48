package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/toskose/toskose/unit/wire"
)

// recover reads the files of an earlier run.
func (j *Journal) recover() (Replay, error) {
	names, err := j.storage.list()
	if errors.Is(err, fs.ErrNotExist) {
		return Replay{}, nil
	}
	if err != nil {
		return Replay{}, err
	}
	var replay Replay
	if slices.Contains(names, instanceName) {
		data, err := j.readAll(instanceName)
		if err != nil {
			return Replay{}, err
		}
		j.instance = strings.TrimSpace(string(data))
		j.persisted = true
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !isSegment(name) })
	slices.Sort(names)
	contents := make([][]byte, len(names))
	for i, name := range names {
		if contents[i], err = j.readAll(name); err != nil {
			return Replay{}, err
		}
	}
	switch own := newestInstance(contents); {
	case own != "" && own != j.instance: // the id in the entries is protected by a checksum
		j.instance, j.persisted = own, false
		replay.Notes = append(replay.Notes, "the instance id could not be read and was taken from the entries")
	case !validInstance(j.instance):
		j.instance, j.persisted = "", false
	}
	j.replay(names, contents, &replay)
	return replay, nil
}

// replay goes from the last segment back to the last readable checkpoint. Older
// segments are only indexed.
func (j *Journal) replay(names []string, contents [][]byte, replay *Replay) {
	found, below := false, uint64(noSeq)
	for i := len(names) - 1; i >= 0; i-- {
		check := sequence
		var entries []wire.Entry
		if !found {
			check = func(line []byte) (uint64, bool) {
				e, ok := decode(line, j.instance)
				return e.Seq, ok
			}
		}
		seg, damage := scan(names[i], contents[i], below, check)
		if !found {
			entries = seg.entries(contents[i], j.instance)
		}
		j.recordDamage(replay, seg, damage, i == len(names)-1)
		if len(seg.index) == 0 {
			continue
		}
		below = seg.index[0].seq
		if len(j.segments) == 0 {
			j.seq = seg.index[len(seg.index)-1].seq
		}
		if at := slices.IndexFunc(entries, isCheckpoint); at == 0 {
			seg.head = seg.end(0)
		}
		if at := lastCheckpoint(entries); at >= 0 {
			found, entries = true, entries[at:]
		}
		replay.Entries = append(entries, replay.Entries...)
		j.segments = append([]*segment{seg}, j.segments...)
	}
	if len(j.segments) > 0 && !found {
		replay.Notes = append(replay.Notes, "no checkpoint can be read; the history before the oldest entry is unknown")
		j.rotate = true
	}
}

// recordDamage records the damage of a segment and determines how to continue.
func (j *Journal) recordDamage(replay *Replay, seg *segment, d damage, last bool) {
	add := func(format string, args ...any) {
		replay.Notes = append(replay.Notes, seg.name+": "+fmt.Sprintf(format, args...))
	}
	if d.lines > 0 {
		add("%d damaged lines were skipped", d.lines)
		j.rotate = j.rotate || last
	}
	switch {
	case len(seg.index) == 0:
		add("it has no readable entry")
		j.stale = append(j.stale, seg.name)
	case d.torn > 0 && last:
		add("the last %d bytes, from an incomplete write, were removed", d.torn)
		j.dirty = true
	case d.torn > 0:
		add("the last %d bytes are damaged", d.torn)
	}
	if last && len(seg.index) == 0 {
		j.rotate = true // its predecessor is complete
	}
}

func isCheckpoint(e wire.Entry) bool { return e.Kind == wire.EntryCheckpoint }

func lastCheckpoint(entries []wire.Entry) int {
	for i := len(entries) - 1; i >= 0; i-- {
		if isCheckpoint(entries[i]) {
			return i
		}
	}
	return -1
}

// entries decodes the valid lines of a segment.
func (s *segment) entries(data []byte, instance string) []wire.Entry {
	entries := make([]wire.Entry, 0, len(s.index))
	for i, at := range s.index {
		line, _, _ := bytes.Cut(data[at.start:s.end(i)], []byte("\n"))
		if e, ok := decode(line, instance); ok {
			entries = append(entries, e)
		}
	}
	return entries
}

// newestInstance returns the instance of the newest readable entry.
func newestInstance(contents [][]byte) string {
	for _, data := range slices.Backward(contents) {
		for _, line := range slices.Backward(bytes.Split(data, []byte("\n"))) {
			if e, ok := decodeAny(line); ok && validInstance(e.Instance) {
				return e.Instance
			}
		}
	}
	return ""
}

// readAll reads a whole file.
func (j *Journal) readAll(name string) ([]byte, error) {
	in, err := j.storage.read(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(io.NewSectionReader(in, 0, 1<<62))
}
