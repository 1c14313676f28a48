package logs

import (
	"context"
	"io"
	"slices"
	"time"
)

// Begin says where a reader of a log begins that has no cursor: the last of what is
// given. The zero value is the oldest byte that is kept.
type Begin struct {
	Since time.Time // what was written then or later
	Last  int       // so many lines before the end, of 10,000; -1: the end
}

// lastMost is the most lines that Begin.Last goes back.
const lastMost = 10_000

// Chunk is a part of one of several logs that was written at one time.
type Chunk struct {
	Log  int    // which
	At   string // the cursor of its first byte
	Data []byte
	Time time.Time
	Gap  bool  // something before it is missing, or may be
	Lost int64 // how many bytes; 0: unknown
}

const (
	mergeBytes = 64 << 10 // that a Merger holds of all logs
	mergeLeast = 4 << 10  // and of one log
)

// Merger reads several logs in the order in which they were written, as far as the
// indexes of their times say, and each in its own. It is not safe for concurrent use.
type Merger struct {
	logs  []*mergedLog
	bell  chan struct{}
	share int64 // of mergeBytes for each log that has something
}

// tributary is a log of a Merger.
type mergedLog struct {
	f       *File
	next    cursor // after what is held
	at      cursor // of what is held
	data    []byte // and was not returned
	marks   []mark // of what is held
	start   bool   // where it begins was not told
	gap     bool   // before what is held
	lost    int64  // of bytes
	version uint64 // of the File when nothing came after next
	read    bool   // version counts
}

// Merge reads logs, each from its cursor, or from where begin says. Logs that cannot
// be read, such as the container's own output, have nothing. The fault is BAD_ARGUMENTS
// for what is not a cursor. The caller closes the Merger.
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

// ring adds or removes a bell.
func (f *File) registerMerger(bell chan struct{}, on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mergers = slices.DeleteFunc(f.mergers, func(b chan struct{}) bool { return b == bell })
	if on {
		f.mergers = append(f.mergers, bell)
	}
}

// divide shares the memory among the logs that have something.
func (m *Merger) divide() {
	n := 1
	for _, t := range m.logs {
		if len(t.data) > 0 {
			n++
		}
	}
	m.share = max(mergeBytes/int64(n), mergeLeast)
}

// Next returns the next chunk; nil: there is nothing more now. A chunk without data
// says where a log begins whose beginning is not read, or what is missing from it. The error
// is io.EOF when a log was closed and is read to its end: the unit ends, or its
// configuration changed.
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

// tell returns what is to be known before any data.
func (t *mergedLog) announceGap(i int) *Chunk {
	at := t.next
	if len(t.data) > 0 {
		at = t.at
	}
	c := &Chunk{Log: i, At: at.String(), Gap: t.gap, Lost: t.lost}
	t.start, t.gap, t.lost = false, false, 0
	return c
}

// take returns what is held of the earliest time.
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

// fill reads on once all that was held is taken.
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

// Wait waits until a log has changed, or ctx ends.
func (m *Merger) Wait(ctx context.Context) {
	select {
	case <-m.bell:
	case <-ctx.Done():
	}
}

// marksOf returns when a part of one of the files was written: at least one mark, the
// first of which is of its first byte.
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
