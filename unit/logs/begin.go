package logs

import (
	"bytes"

	"github.com/toskose/toskose/unit/safepath"
)

// modified returns the modification time of a file, or 0 if unknown. It is the time of all data in
// a file without an index.
func modified(path string) int64 {
	info, err := safepath.Stat(path)
	if err != nil {
		return 0
	}
	return info.ModTime().UnixNano()
}

// generation is one of the files of a log, with its path at that moment.
type generation struct {
	at   cursor // position of its first byte
	path string
	size int64
}

// generations returns the files of a log, the newest first.
func (f *File) generations() []generation {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []generation
	for i := range f.kept + 1 {
		path := f.path
		if i > 0 {
			path = f.backup(i)
		}
		if info, err := safepath.Stat(path); err == nil && info.Mode().IsRegular() {
			all = append(all, generation{cursor{life: f.life, gen: f.gen - uint64(i)}, path, info.Size()})
		}
	}
	return all
}

// beginAt returns the start position of a reader without a cursor.
func (f *File) beginAt(oldest cursor, b Begin) cursor {
	at := oldest
	if !b.Since.IsZero() {
		at = f.since(oldest, b.Since.UnixNano())
	}
	var last cursor
	switch {
	case b.Last < 0:
		last, _, _ = f.from(EndCursor)
	case b.Last > 0:
		last = f.last(oldest, min(b.Last, lastMost))
	default:
		return at
	}
	if last.gen > at.gen || last.gen == at.gen && last.offset > at.offset {
		return last
	}
	return at
}

// since returns the position of data written at or after a time. Data between two marks is
// included; its time is reported to the reader.
func (f *File) since(oldest cursor, nano int64) cursor {
	found := oldest
	for i, g := range f.generations() {
		found = g.at
		if modified(g.path) < nano {
			if found.offset = g.size; i > 0 {
				found.gen, found.offset = found.gen+1, 0
			}
			return found
		}
		if x, ok := openIndex(g.path); ok {
			before := x.before(nano)
			mine := x.life == g.at.life && x.gen == g.at.gen
			x.Close()
			if mine && before.at > 0 {
				found.offset = min(before.offset, g.size)
				return found
			}
		}
	}
	return found
}

// last returns the position of the last lines. An incomplete line counts.
func (f *File) last(oldest cursor, lines int) cursor {
	const block = 32 << 10
	buffer := make([]byte, block)
	found, ends, whole := oldest, 0, true
	for _, g := range f.generations() {
		file, err := safepath.Open(g.path)
		if err != nil {
			break
		}
		for end := g.size; end > 0; {
			begin := max(end-block, 0)
			data := buffer[:end-begin]
			if _, err := file.ReadAt(data, begin); err != nil {
				break // it was truncated meanwhile
			}
			if whole && data[len(data)-1] == '\n' {
				ends-- // it ends the last line and does not begin another
			}
			whole = false
			for n := len(data); n > 0; {
				n = bytes.LastIndexByte(data[:n], '\n')
				if n < 0 {
					break
				}
				if ends++; ends == lines {
					file.Close()
					found = g.at
					found.offset = begin + int64(n) + 1
					return found
				}
			}
			end = begin
		}
		file.Close()
		found = g.at
	}
	return found
}
