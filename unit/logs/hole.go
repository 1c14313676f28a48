package logs

import "math"

// hole is a position at which bytes could not be written.
type hole struct {
	gen           uint64
	offset, bytes int64
}

// mostHoles is the number of holes that a log remembers.
const mostHoles = 64

// recordHole records bytes that could not be written. The caller holds the lock.
func (f *File) recordHole(bytes int64) {
	if n := len(f.holes); n > 0 && f.holes[n-1].gen == f.gen && f.holes[n-1].offset == f.size {
		f.holes[n-1].bytes += bytes
		return
	}
	f.holes = append(f.holes, hole{f.gen, f.size, bytes})
	if len(f.holes) > mostHoles {
		f.holes = f.holes[1:]
	}
}

// bytesToHole returns the number of bytes from a position to the next hole.
func (f *File) bytesToHole(at cursor) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, h := range f.holes {
		if h.gen == at.gen && h.offset > at.offset {
			return h.offset - at.offset
		}
	}
	return math.MaxInt64
}

// missingBefore returns the number of bytes missing just before a position.
func (f *File) missingBefore(at cursor) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, h := range f.holes {
		if h.gen == at.gen && h.offset == at.offset {
			return h.bytes
		}
	}
	return 0
}
