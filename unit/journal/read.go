package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/toskose/toskose/unit/wire"
)

// MaxEntries is the most entries that one Read returns.
const MaxEntries = 1000

// Page is the result of Read.
type Page struct {
	Entries []wire.Entry
	Cursor  string // the position after the last of them, for the next Read

	// Reset reports that the cursor was empty, from another instance, or older than the oldest
	// entry: Entries start at the first one, a checkpoint, and invalidate what the reader knew
	// before.
	Reset bool
}

// Read returns at most limit entries after a cursor; a limit of 0, or beyond
// MaxEntries, means MaxEntries. A malformed cursor is the fault BAD_ARGUMENTS.
func (j *Journal) Read(after string, limit int) (Page, error) {
	if limit <= 0 || limit > MaxEntries {
		limit = MaxEntries
	}
	for {
		j.mu.Lock()
		closed := j.closed
		segments := make([]segment, len(j.segments))
		for i, seg := range j.segments {
			segments[i] = *seg
		}
		seq, reset, err := j.resolve(after)
		j.mu.Unlock()
		if closed {
			return Page{}, ErrClosed
		}
		if err != nil {
			return Page{}, err
		}
		entries, err := j.collect(segments, seq, limit)
		if errors.Is(err, fs.ErrNotExist) && j.removed(segments) {
			continue // rotation has just removed it
		}
		if err != nil {
			return Page{}, fmt.Errorf("cannot read the journal: %w", err)
		}
		if len(entries) > 0 {
			seq = entries[len(entries)-1].Seq
		}
		return Page{Entries: entries, Cursor: j.Cursor(seq), Reset: reset}, nil
	}
}

// removed reports whether the oldest of the segments has been removed.
func (j *Journal) removed(segments []segment) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return !slices.ContainsFunc(j.segments, func(s *segment) bool { return s.name == segments[0].name })
}

// Wait blocks until Read would return an entry.
func (j *Journal) Wait(ctx context.Context, after string) error {
	for {
		j.mu.Lock()
		seq, _, err := j.resolve(after)
		if err == nil && j.closed {
			err = ErrClosed
		}
		if err != nil || j.seq > seq {
			j.mu.Unlock()
			return err
		}
		if j.changed == nil {
			j.changed = make(chan struct{})
		}
		changed := j.changed
		j.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// resolve returns the number of the entry before a cursor. The caller holds the lock.
func (j *Journal) resolve(cursor string) (seq uint64, reset bool, err error) {
	oldest := uint64(1)
	if len(j.segments) > 0 {
		oldest = j.segments[0].index[0].seq
	}
	if cursor == "" {
		return oldest - 1, true, nil
	}
	instance, number, ok := strings.Cut(cursor, ":")
	seq, err = strconv.ParseUint(number, 10, 64)
	if !ok || instance == "" || err != nil {
		return 0, false, wire.NewFault(wire.BadArguments, "a cursor is INSTANCE:SEQ")
	}
	if instance != j.instance || seq < oldest-1 || seq > j.seq {
		return oldest - 1, true, nil
	}
	return seq, false, nil
}

// collect reads the entries after a number.
func (j *Journal) collect(segments []segment, seq uint64, limit int) ([]wire.Entry, error) {
	var entries []wire.Entry
	for i := range segments {
		seg := &segments[i]
		from := seg.after(seq)
		if from == len(seg.index) {
			continue
		}
		to := min(from+limit-len(entries), len(seg.index))
		more, err := j.lines(seg, from, to)
		if err != nil {
			return nil, err
		}
		entries = append(entries, more...)
		if len(entries) == limit {
			break
		}
	}
	return entries, nil
}

// lines reads the entries of a range of a segment's index.
func (j *Journal) lines(seg *segment, from, to int) ([]wire.Entry, error) {
	in, err := j.storage.read(seg.name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	start, end := seg.index[from].start, seg.end(to-1)
	data := make([]byte, end-start)
	if _, err := in.ReadAt(data, start); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	part := &segment{size: int64(len(data))}
	for _, at := range seg.index[from:to] {
		part.index = append(part.index, entryPosition{at.seq, at.start - start})
	}
	return part.entries(data, j.instance), nil
}
