package logs

import (
	"bytes"

	"github.com/toskose/toskose/unit/safepath"
)

// modified returns when a file was written last; 0: nobody knows. That is the time of what
// has none in an index.
func modified(path string) int64 {
	info, err := safepath.Stat(path)
	if err != nil {
		return 0
	}
	return info.ModTime().UnixNano()
}

// generation is one of the files of a log, with its path at some moment.
type generation struct {
	at   cursor // of its beginning
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

// beginAt returns where a reader begins that has no cursor.
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

// since returns where what was written at a time or later begins. What no mark tells
// apart is included: the reader sees its time.
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

// last returns where the last lines of a log begin. A line that is not complete counts.
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
				break // it was cut meanwhile
			}
			if whole && data[len(data)-1] == '\n' {
				ends-- // it ends the last line and begins none
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
