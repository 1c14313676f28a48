package logs

import (
	"context"
	"io"
	"slices"
	"time"
)

// Begin is the start position of a reader without a cursor: the later of both fields. The zero
// value is the oldest byte kept.
type Begin struct {
	Since time.Time // data written at this time or later
	Last  int       // number of lines before the end, up to 10,000; -1: the end
}

// lastMost is the maximum of Begin.Last.
const lastMost = 10_000

// Chunk is a part of one of several logs that was written at one time.
type Chunk struct {
	Log  int    // index of the log
	At   string // cursor of its first byte
	Data []byte
	Time time.Time
	Gap  bool  // data before it is missing, or may be
	Lost int64 // number of missing bytes; 0: unknown
}

const (
	mergeBytes = 64 << 10 // the memory of a Merger for all logs
	mergeLeast = 4 << 10  // its minimum for one log
)

// Merger reads several logs in the order of writing, as far as their indexes of times tell, and
// each log in its own order. It is not safe for concurrent use.
type Merger struct {
	logs  []*mergedLog
	bell  chan struct{}
	share int64 // the share of mergeBytes per log with data
}

// mergedLog is a log of a Merger.
type mergedLog struct {
	f       *File
	next    cursor // position after data
	at      cursor // position of data
	data    []byte // read but not returned
	marks   []mark // times of data
	start   bool   // its start was not announced
	gap     bool   // there is a gap before data
	lost    int64  // number of bytes in the gap
	version uint64 // of the File when nothing was found after next
	read    bool   // version is valid
}

// Merge reads logs, each from its cursor, or from begin. Logs that cannot be read, such as the
// container's own output, are empty. A malformed cursor is the fault BAD_ARGUMENTS. The caller
// closes the Merger.
func Merge(files []*File, after []string, begin Begin) (*Merger, error) {
	m := &Merger{bell: make(chan struct{}, 1)}
	for i, f := range files {
		t := &mergedLog{f: f}
		m.logs = append(m.logs, t)
		if f == nil || f.std != nil {
			t.f = nil
			continue
		}
		from, gap, err := f.from(after[i])
		if err != nil {
			return nil, err
		}
		t.next, t.gap = from, gap
		if after[i] == "" {
			t.next = f.beginAt(from, begin)
			t.start = t.next != from
			if t.gap = gap && !t.start; t.gap {
				t.lost = f.before(from)
			}
		}
	}
	for _, t := range m.logs {
		if t.f != nil {
			t.f.registerMerger(m.bell, true)
		}
	}
	m.divide()
	return m, nil
}

// Close releases the logs.
func (m *Merger) Close() {
	for _, t := range m.logs {
		if t.f != nil {
			t.f.registerMerger(m.bell, false)
		}
	}
}

// registerMerger adds or removes a channel to notify.
func (f *File) registerMerger(bell chan struct{}, on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mergers = slices.DeleteFunc(f.mergers, func(b chan struct{}) bool { return b == bell })
	if on {
		f.mergers = append(f.mergers, bell)
	}
}

// divide divides the memory among the logs that have data.
func (m *Merger) divide() {
	n := 1
	for _, t := range m.logs {
		if len(t.data) > 0 {
			n++
		}
	}
	m.share = max(mergeBytes/int64(n), mergeLeast)
}

// Next returns the next chunk, or nil if there is none now. A chunk without data announces the
// start position of a log, or a gap. The error is io.EOF when a log was closed and read completely,
// because the unit ends or its configuration changed.
func (m *Merger) Next() (*Chunk, error) {
	var first *mergedLog
	index := 0
	for i, t := range m.logs {
		if t.f == nil {
			continue
		}
		if err := t.fill(m.share); err != nil {
			return nil, err
		}
		if t.start || t.gap {
			return t.announceGap(i), nil
		}
		if len(t.data) == 0 {
			continue
		}
		if first == nil || t.marks[0].at < first.marks[0].at {
			first, index = t, i
		}
	}
	if first == nil {
		m.divide()
		return nil, nil //nolint:nilnil // there is neither
	}
	return first.takeEarliest(index), nil
}

// announceGap returns a chunk that precedes any data, or nil.
func (t *mergedLog) announceGap(i int) *Chunk {
	at := t.next
	if len(t.data) > 0 {
		at = t.at
	}
	c := &Chunk{Log: i, At: at.String(), Gap: t.gap, Lost: t.lost}
	t.start, t.gap, t.lost = false, false, 0
	return c
}

// takeEarliest returns the earliest part of the data.
func (t *mergedLog) takeEarliest(i int) *Chunk {
	n := len(t.data)
	if len(t.marks) > 1 {
		n = int(t.marks[1].offset - t.at.offset)
	}
	c := &Chunk{Log: i, At: t.at.String(), Data: t.data[:n], Time: time.Unix(0, t.marks[0].at)}
	t.data = t.data[n:]
	t.at.offset += int64(n)
	if len(t.marks) > 1 {
		t.marks = t.marks[1:]
	}
	return c
}

// fill reads more once all data was returned.
func (t *mergedLog) fill(most int64) error {
	if len(t.data) > 0 {
		return nil
	}
	t.data, t.marks = nil, nil
	t.f.mu.Lock()
	version, closed := t.f.version, t.f.closed
	t.f.mu.Unlock()
	if t.read && t.version == version {
		return nil
	}
	p, err := t.f.readAfter(t.next, most)
	if err != nil {
		return err
	}
	t.at, t.next, t.data = p.at, p.next, p.data
	t.gap, t.lost = t.gap || p.gap, t.lost+p.lost
	if t.read, t.version = len(p.data) == 0, version; t.read {
		if closed && !t.gap {
			return io.EOF
		}
		return nil
	}
	t.marks = t.f.marksOf(p.at, int64(len(p.data)))
	return nil
}

// Wait blocks until a log has changed or ctx ends.
func (m *Merger) Wait(ctx context.Context) {
	select {
	case <-m.bell:
	case <-ctx.Done():
	}
}

// marksOf returns when a part of a file was written: at least one mark, the first of which is for
// its first byte.
func (f *File) marksOf(at cursor, length int64) []mark {
	end := at.offset + length
	f.mu.Lock()
	path, current := f.path, at.gen == f.gen
	if !current {
		path = f.backup(int(f.gen - at.gen))
	}
	marked, wrote := f.marked, f.lastWrite
	f.mu.Unlock()
	var marks []mark
	if current && marked.at > 0 && at.offset >= marked.offset {
		marks = []mark{marked}
	} else if x, ok := openIndex(path); ok {
		if x.life == at.life && x.gen == at.gen {
			marks = x.between(at.offset, end)
		}
		x.Close()
	}
	if current && wrote.at > 0 && wrote.offset < end && (len(marks) == 0 || wrote.offset > marks[len(marks)-1].offset) {
		marks = append(marks, wrote)
	}
	if len(marks) == 0 {
		marks = []mark{{at.offset, modified(path)}}
	}
	for len(marks) > 1 && marks[1].offset <= at.offset {
		marks = marks[1:]
	}
	for i := 1; i < len(marks); i++ {
		marks[i].at = max(marks[i].at, marks[i-1].at)
	}
	return marks
}
