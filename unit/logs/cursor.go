package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/toskose/toskose/unit/safepath"
	"github.com/toskose/toskose/unit/wire"
)

const (
	lifeLength = 12
	pageBytes  = 1 << 20
)

// EndCursor stands for the current end of a log.
const EndCursor = "end"

// Page is a part of a log, and the cursor of the next one.
type Page struct {
	Data []byte // at most 1 MiB; empty: nothing new
	Next string // the cursor after it
	Gap  bool   // data between the cursor and Data is lost, or may be
	Lost int64  // number of lost bytes; 0: unknown
}

// cursor is a position in a log: LIFE.GEN.OFFSET. GEN counts the files at the log's path since the
// unit first opened it.
type cursor struct {
	life   string
	gen    uint64
	offset int64
}

func (c cursor) String() string { return fmt.Sprintf("%s.%d.%d", c.life, c.gen, c.offset) }

func parseCursor(text string) (cursor, bool) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 || len(parts[0]) != lifeLength {
		return cursor{}, false
	}
	gen, genErr := strconv.ParseUint(parts[1], 10, 64)
	offset, err := strconv.ParseInt(parts[2], 10, 64)
	return cursor{parts[0], gen, offset}, genErr == nil && err == nil && offset >= 0
}

// After returns the data after a cursor. It waits for output until ctx is done, which is not an
// error. Without a cursor it begins at the oldest byte kept, and reports a gap if there were older
// ones. Data that a full disk did not take is a gap too. Rotation loses nothing as long as the
// backup that the reader has reached is kept. Otherwise, if the file was truncated or removed
// before it was read completely, or if the cursor is from an earlier run of the unit, the page
// reports a gap and continues at the oldest byte. A malformed cursor is the fault BAD_ARGUMENTS;
// the container's output is NO_FILE.
func (f *File) After(ctx context.Context, after string) (Page, error) {
	if f.std != nil {
		return Page{}, wire.NewFault(wire.NoFile, f.path)
	}
	at, gap, err := f.from(after)
	if err != nil {
		return Page{}, err
	}
	var lost int64
	if gap && after == "" {
		lost = f.before(at)
	}
	for {
		f.mu.Lock()
		change, closed := f.waiter(), f.closed
		f.mu.Unlock()
		p, err := f.readAfter(at, pageBytes)
		gap, lost = gap || p.gap, lost+p.lost
		if err != nil || len(p.data) > 0 || closed || after == EndCursor {
			return Page{Data: p.data, Next: p.next.String(), Gap: gap, Lost: lost}, err
		}
		at = p.next
		select {
		case <-change:
		case <-ctx.Done():
			return Page{Next: at.String(), Gap: gap, Lost: lost}, nil
		}
	}
}

// from returns the position for a cursor.
func (f *File) from(after string) (at cursor, gap bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.adopt()
	oldest := cursor{life: f.life, gen: f.gen - uint64(f.kept)}
	switch after {
	case "":
		return oldest, f.position(oldest) > 0, nil
	case EndCursor:
		end := cursor{life: f.life, gen: f.gen}
		if info, err := safepath.Stat(f.path); err == nil && info.Mode().IsRegular() {
			end.offset = info.Size()
		}
		return end, false, nil
	}
	at, ok := parseCursor(after)
	if !ok {
		return at, false, wire.NewFault(wire.BadArguments, "a cursor of a log is LIFE.GEN.OFFSET, end, or nothing")
	}
	if at.life != f.life || at.gen > f.gen {
		return oldest, true, nil
	}
	return at, false, nil
}

// logPart is a part of one file of a log. If it has no data, next is the position of the next
// bytes.
type logPart struct {
	data      []byte
	at, next  cursor
	gap       bool  // data before it is missing, or may be
	lost      int64 // number of missing bytes; 0: unknown
	unwritten int64 // of these, bytes that could not be written
}

// readAfter returns the next bytes.
func (f *File) readAfter(at cursor, most int64) (p logPart, err error) {
	asked := at
	defer func() {
		if p.gap {
			p.lost = f.distance(asked, p.at)
		}
		p.gap, p.lost = p.gap || p.unwritten > 0, p.lost+p.unwritten
	}()
	for {
		p.at, p.next = at, at
		file, current, lost, err := f.openAt(&at)
		p.at, p.next, p.gap = at, at, p.gap || lost
		if err != nil || file == nil && current {
			return p, err
		}
		if file != nil {
			data, last, shrunk, err := piece(file, at.offset, most)
			file.Close()
			if err != nil {
				return p, wire.NewFault(wire.Failed, f.path)
			}
			if shrunk {
				at.offset, p.gap = 0, true // truncated by another process
				asked = at                 // by an unknown amount
				continue
			}
			if f.truncatedSince(at.gen) {
				continue // these bytes may have been written after the truncation
			}
			if n := f.bytesToHole(at); n < int64(len(data)) {
				data, last = data[:n], false
			}
			if len(data) > 0 {
				p.unwritten = f.missingBefore(at)
			}
			if len(data) > 0 || current {
				p.data, p.next.offset = data, at.offset+int64(len(data))
				if last && !current {
					p.next.gen, p.next.offset = at.gen+1, 0 // a rotated file does not grow
				}
				return p, nil
			}
		}
		// The file was read completely before it was rotated, or another process removed it.
		p.gap = p.gap || file == nil
		at.gen, at.offset = at.gen+1, 0
	}
}

// before returns the number of bytes before a position; 0: unknown.
func (f *File) before(at cursor) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return max(f.position(at), 0)
}

// distance returns the number of bytes between two positions; 0: unknown.
func (f *File) distance(from, to cursor) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	begin, end := f.position(from), f.position(to)
	if begin < 0 || end < begin {
		return 0
	}
	return end - begin
}

// openAt opens the file of a position. If it no longer exists, openAt moves the position to the
// oldest file kept. A missing file is not an error.
func (f *File) openAt(at *cursor) (file *os.File, current, gap bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if oldest := f.gen - uint64(f.kept); at.gen < oldest {
		gap = !f.complete(*at)
		at.gen, at.offset = oldest, 0
	}
	path := f.path
	if current = at.gen == f.gen; !current {
		path = f.backup(int(f.gen - at.gen))
	}
	file, err = safepath.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, current, gap, nil
	}
	if err != nil {
		return nil, current, gap, wire.NewFault(wire.Failed, path)
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		file.Close()
		return nil, current, gap, wire.NewFault(wire.Failed, path)
	}
	return file, current, gap, nil
}

// complete reports whether a reader at a removed position had read everything before the oldest
// file kept. The caller holds the lock.
func (f *File) complete(at cursor) bool {
	return at.gen+1 == f.gen-uint64(f.kept) && at.offset == f.ended
}

func (f *File) truncatedSince(gen uint64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return gen < f.cut
}

// piece reads the data at an offset and reports whether it is the last of the file.
func piece(file *os.File, offset, most int64) (data []byte, last, shrunk bool, err error) {
	info, err := file.Stat()
	if err != nil || info.Size() < offset {
		return nil, false, err == nil, err
	}
	data = make([]byte, min(info.Size()-offset, most))
	n, err := file.ReadAt(data, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, false, err
	}
	return data[:n], offset+int64(n) == info.Size(), false, nil
}
