package journal

import (
	"encoding/json"
	"fmt"

	"github.com/toskose/toskose/unit/wire"
)

// pending is an entry on its way to the disk.
type pending struct {
	entry wire.Entry
	line  []byte
	err   error
	done  chan struct{} // closed when entry and err are final
	lead  chan struct{} // closed when its caller is to write the queue
}

// Append gives an entry its number, this instance and, where it has none, the
// time, and returns it once it is on the disk. An error has ErrUnavailable in
// its chain, and the entry left no trace; or the entry cannot be encoded.
func (j *Journal) Append(e wire.Entry) (wire.Entry, error) {
	p := &pending{entry: e, done: make(chan struct{}), lead: make(chan struct{})}
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
	j.lead()
	return p.entry, p.err
}

// lead writes all that is in the queue, its caller's entry too, and makes the
// caller of what has come meanwhile the next leader.
func (j *Journal) lead() {
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
	j.rested.Broadcast()
}

// commit writes entries with one write and one sync: all or none of them.
func (j *Journal) commit(batch []*pending) {
	err := j.prepare()
	if err == nil {
		err = j.write(batch)
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

// write appends the lines of entries to the last segment.
func (j *Journal) write(batch []*pending) error {
	seg := j.segments[len(j.segments)-1]
	var lines []byte
	seq := j.seq
	for _, p := range batch {
		e := p.entry
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
		p.entry, p.line = e, append(line, '\n')
		lines = append(lines, p.line...)
	}
	if _, err := j.out.WriteAt(lines, seg.size); err != nil {
		j.undo(seg)
		return err
	}
	if err := j.out.Sync(); err != nil {
		j.undo(seg)
		return err
	}
	return nil
}

// undo cuts off what a failed write has left. Where not even that works, the
// next write does it first.
func (j *Journal) undo(seg *segment) {
	j.dirty = j.out.Truncate(seg.size) != nil
}

// publish shows entries to readers.
func (j *Journal) publish(batch []*pending) {
	j.mu.Lock()
	defer j.mu.Unlock()
	seg := j.segments[len(j.segments)-1]
	for _, p := range batch {
		if p.err == nil {
			seg.add(p.entry.Seq, int64(len(p.line)))
			j.seq = p.entry.Seq
			p.line = nil
		}
	}
	j.wake()
}

// prepare makes the last segment one that can be appended to.
func (j *Journal) prepare() error {
	if !j.persisted {
		if err := j.persist(); err != nil {
			return err
		}
	}
	if len(j.segments) == 0 || j.rotate {
		return j.begin()
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
		return j.begin()
	}
	return nil
}

// persist writes the instance id into the folder.
func (j *Journal) persist() error {
	out, err := j.storage.open(instanceName)
	if err != nil {
		return err
	}
	defer out.Close()
	id := []byte(j.instance + "\n")
	if _, err := out.WriteAt(id, 0); err != nil {
		return err
	}
	if err := out.Truncate(int64(len(id))); err != nil {
		return err
	}
	if err := out.Sync(); err != nil {
		return err
	}
	j.persisted = true
	return nil
}

// begin begins a segment with a checkpoint. The oldest one that is too many is
// removed first: on a full disk that makes the room.
func (j *Journal) begin() error {
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
	line = append(line, '\n')
	seg := &segment{name: segmentName(e.Seq)}
	out, err := j.create(seg.name, line)
	if err != nil {
		return err
	}
	for _, name := range j.stale {
		if name != seg.name {
			_ = j.storage.remove(name) // or the next run of the unit does
		}
	}
	j.stale = nil
	if j.out != nil {
		j.out.Close()
	}
	j.out, j.rotate, j.dirty = out, false, false
	seg.add(e.Seq, int64(len(line)))
	seg.head = seg.size
	j.mu.Lock()
	defer j.mu.Unlock()
	j.segments = append(j.segments, seg)
	j.seq = e.Seq
	return nil
}

// create makes a segment file with its first line, or leaves none.
func (j *Journal) create(name string, line []byte) (file, error) {
	out, err := j.storage.open(name)
	if err != nil {
		return nil, err
	}
	if err = out.Truncate(0); err == nil {
		_, err = out.WriteAt(line, 0)
	}
	if err == nil {
		err = out.Sync()
	}
	if err != nil {
		out.Close()
		_ = j.storage.remove(name) // what stays is empty or torn, and is cut by recovery
		return nil, err
	}
	return out, nil
}
