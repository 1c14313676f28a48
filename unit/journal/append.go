package journal

import (
	"encoding/json"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/toskose/toskose/unit/wire"
)

// request is an Append in progress.
type request struct {
	entry wire.Entry
	line  []byte
	err   error
	done  chan struct{} // closed when entry and err are final
	lead  chan struct{} // closed when its caller becomes the leader
}

// Append sets the entry's number, instance and, if it has none, time, and returns it once it is on
// disk. If it cannot be written, the error has ErrUnavailable in its chain and nothing of it
// remains.
func (j *Journal) Append(e wire.Entry) (wire.Entry, error) {
	p := &request{entry: e, done: make(chan struct{}), lead: make(chan struct{})}
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return e, fmt.Errorf("%w: %w", ErrUnavailable, ErrClosed)
	}
	j.queue = append(j.queue, p)
	lead := !j.leading
	j.leading = true
	j.mu.Unlock()
	if !lead {
		select {
		case <-p.done:
			return p.entry, p.err
		case <-p.lead:
		}
	}
	j.writeQueue()
	return p.entry, p.err
}

// writeQueue writes the queue, which includes the caller's entry. If entries arrived meanwhile, the
// caller of the first one becomes the next leader.
func (j *Journal) writeQueue() {
	j.mu.Lock()
	batch := j.queue
	j.queue = nil
	j.mu.Unlock()

	j.commit(batch)
	for _, p := range batch {
		close(p.done)
	}

	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.queue) > 0 {
		close(j.queue[0].lead)
		return
	}
	j.leading = false
	j.idle.Broadcast()
}

// commit writes a batch with one write and one sync, completely or not at all.
func (j *Journal) commit(batch []*request) {
	err := j.prepare()
	if err == nil {
		if j.reserve(batch); j.outOfRoom {
			dropOutput(batch)
		}
		if err = j.write(batch); isDiskFull(err) && !j.dirty { // on a file system without reservations
			dropOutput(batch)
			err = j.write(batch)
		}
	}
	for _, p := range batch {
		if err != nil && p.err == nil {
			p.err = fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		if p.err == nil && j.o.Apply != nil {
			j.o.Apply(p.entry)
		}
	}
	if err == nil {
		j.publish(batch)
	}
}

// dropOutput removes the output from entries: it is less important than the end of the execution.
func dropOutput(batch []*request) {
	for _, p := range batch {
		if p.entry.Execution != nil {
			p.entry.Execution = p.entry.Execution.Brief()
		}
	}
}

// maxOutputSize returns an upper bound for the size of the output in a batch.
func maxOutputSize(batch []*request) (n int64) {
	const escaped = 6 // the length of \u0000
	for _, p := range batch {
		if x := p.entry.Execution; x != nil {
			n += escaped * int64(len(x.Stdout)+len(x.Stderr))
		}
	}
	return n
}

// write appends a batch to the last segment.
func (j *Journal) write(batch []*request) error {
	seg := j.segments[len(j.segments)-1]
	var lines []byte
	seq := j.seq
	for _, p := range batch {
		e := p.entry
		if j.outOfRoom && e.Kind == wire.EntryStart { // the remaining room is kept for exit entries
			p.err = fmt.Errorf("%w: %w", ErrUnavailable, unix.ENOSPC)
			continue
		}
		e.Seq, e.Instance = seq+1, j.instance
		if e.Time.IsZero() {
			e.Time = j.o.Now()
		}
		line, err := json.Marshal(e)
		if err != nil {
			p.err = fmt.Errorf("cannot encode the entry: %w", err)
			continue
		}
		seq++
		p.entry, p.line = e, withChecksum(line)
		lines = append(lines, p.line...)
	}
	if _, err := j.out.WriteAt(lines, seg.size); err != nil {
		j.truncateFailedWrite(seg)
		return err
	}
	if err := j.out.Sync(); err != nil {
		j.truncateFailedWrite(seg)
		return err
	}
	return nil
}

// truncateFailedWrite removes the remains of a failed write. If that fails too, the next write
// retries it.
func (j *Journal) truncateFailedWrite(seg *segment) {
	j.dirty, j.reserved = j.out.Truncate(seg.size) != nil, 0
}

// reserve reserves disk space for future entries, including the end of each running execution, so
// that a program that fills the disk cannot prevent these from being recorded.
func (j *Journal) reserve(batch []*request) {
	seg := j.segments[len(j.segments)-1]
	needed := seg.size + reserveBytes/2 + endBytes*int64(unfinishedExecutions(j.unfinished, batch)) + maxOutputSize(batch)
	out, ok := j.out.(reserver)
	if !ok || !j.outOfRoom && j.reserved >= needed {
		return
	}
	needed += reserveBytes / 2
	err := out.reserve(seg.size, needed-seg.size)
	if j.outOfRoom = isDiskFull(err); err == nil {
		j.reserved = needed
	}
}

// isDiskFull reports whether an error means that the disk is full.
func isDiskFull(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }

// unfinishedExecutions returns the number of executions that have not ended after a batch.
func unfinishedExecutions(begun int, batch []*request) int {
	for _, p := range batch {
		switch {
		case p.err != nil:
		case p.entry.Kind == wire.EntryStart:
			begun++
		case p.entry.Kind == wire.EntryExit && begun > 0: // a lost execution began before this run
			begun--
		}
	}
	return begun
}

// publish makes a batch visible to readers.
func (j *Journal) publish(batch []*request) {
	j.mu.Lock()
	defer j.mu.Unlock()
	seg := j.segments[len(j.segments)-1]
	j.unfinished = unfinishedExecutions(j.unfinished, batch)
	for _, p := range batch {
		if p.err == nil {
			seg.add(p.entry.Seq, int64(len(p.line)))
			j.seq = p.entry.Seq
			p.line = nil
		}
	}
	j.notifyReaders()
}

// prepare makes the last segment ready for appending.
func (j *Journal) prepare() error {
	if !j.persisted {
		if err := j.persist(); err != nil {
			return err
		}
	}
	if len(j.segments) == 0 || j.rotate {
		return j.beginSegment()
	}
	seg := j.segments[len(j.segments)-1]
	if j.out == nil {
		out, err := j.storage.open(seg.name)
		if err != nil {
			return err
		}
		j.out = out
	}
	if j.dirty {
		if err := j.out.Truncate(seg.size); err != nil {
			return err
		}
		j.dirty = false
	}
	if seg.size-seg.head >= j.o.SegmentBytes {
		_ = j.beginSegment() // if it fails, this segment keeps growing, with space reserved
	}
	return nil
}

// persist writes the instance id into the folder.
func (j *Journal) persist() error {
	err := j.storage.replace(instanceName, []byte(j.instance+"\n"))
	j.persisted = err == nil
	return err
}

// beginSegment begins a segment with a checkpoint. It first removes surplus segments, which makes
// room on a full disk. A segment must have at least the room of its predecessor.
func (j *Journal) beginSegment() error {
	for len(j.segments) >= j.o.Segments {
		if err := j.storage.remove(j.segments[0].name); err != nil {
			return err
		}
		j.mu.Lock()
		j.segments = j.segments[1:]
		j.mu.Unlock()
	}
	e := wire.Entry{Seq: j.seq + 1, Instance: j.instance, Time: j.o.Now(), Kind: wire.EntryCheckpoint}
	if j.o.Checkpoint != nil {
		e.Components = j.o.Checkpoint()
	}
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("cannot encode a checkpoint: %w", err)
	}
	line = withChecksum(line)
	seg := &segment{name: segmentName(e.Seq)}
	out, err := j.create(seg.name, line, len(j.segments) > 0 && !j.rotate)
	if err != nil {
		return err
	}
	for _, name := range j.stale {
		if name != seg.name {
			_ = j.storage.remove(name) // if it fails, the next run of the unit removes it
		}
	}
	j.stale = nil
	if j.out != nil {
		if !j.rotate && !j.dirty {
			_ = j.out.Truncate(j.segments[len(j.segments)-1].size) // release the reserved space
		}
		j.out.Close()
	}
	j.out, j.rotate, j.dirty, j.reserved = out, false, false, 0
	seg.add(e.Seq, int64(len(line)))
	seg.head = seg.size
	j.mu.Lock()
	defer j.mu.Unlock()
	j.segments = append(j.segments, seg)
	j.seq = e.Seq
	return nil
}

// create creates a segment file with its first line, or nothing. If roomy, it also reserves space
// for further entries.
func (j *Journal) create(name string, line []byte, roomy bool) (file, error) {
	out, err := j.storage.open(name)
	if err != nil {
		return nil, err
	}
	err = out.Truncate(0)
	if ahead, ok := out.(reserver); ok && roomy && err == nil {
		if err = ahead.reserve(0, int64(len(line))+reserveBytes+endBytes*int64(j.unfinished)); !isDiskFull(err) {
			err = nil // a file system without reservations
		}
	}
	if err == nil {
		_, err = out.WriteAt(line, 0)
	}
	if err == nil {
		err = out.Sync()
	}
	if err != nil {
		out.Close()
		_ = j.storage.remove(name) // the remains are empty or torn, and recovery removes them
		return nil, err
	}
	return out, nil
}
