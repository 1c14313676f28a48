package journal

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/toskose/toskose/unit/wire"
)

var (
	// ErrUnavailable is in the error chain of an Append whose entry could not be written. Nothing
	// of it remains, and a later Append may succeed.
	ErrUnavailable = errors.New("the journal cannot be written")
	// ErrClosed is returned by every method after Close.
	ErrClosed = errors.New("the journal is closed")
	// ErrInUse is in the error chain of Open if another unit has locked the folder.
	ErrInUse = errors.New("it is in use by another unit")
)

// The defaults of Options.
const (
	DefaultSegmentBytes = 256 << 10
	DefaultSegments     = 4
)

// The space that the last segment reserves for future entries: at least half of reserveBytes, and
// endBytes for each running execution.
const (
	reserveBytes = 64 << 10
	endBytes     = 2 << 10
)

// Options configure a journal.
type Options struct {
	SegmentBytes int64 // size after the checkpoint at which a new segment begins; 0: DefaultSegmentBytes
	Segments     int   // number of segments kept, at least 2; 0: DefaultSegments

	// Checkpoint returns all states as of the last entry passed to Apply.
	// nil: checkpoints are empty.
	Checkpoint func() []wire.Checkpointed

	// Apply is called with each appended entry, in order, once it is on disk and before a reader
	// sees it or its Append returns. It is not called for checkpoints and replayed entries. May be
	// nil.
	//
	// Apply and Checkpoint are called within Append, one call at a time, and must not call the
	// journal. If several goroutines append at the same time, either may be called in the goroutine
	// of another entry.
	Apply func(wire.Entry)

	Now    func() time.Time // nil: time.Now
	Random io.Reader        // for the instance id; nil: crypto/rand
}

// Replay is the content of the journal when it was opened.
type Replay struct {
	Instance string
	Entries  []wire.Entry // the last readable checkpoint and the entries after it
	Notes    []string     // a description of each damage found
}

// Journal is an append-only list of entries. It is safe for concurrent use.
type Journal struct {
	o        Options
	storage  storage
	release  func() error
	instance string

	mu       sync.Mutex
	queue    []*request // entries that the next leader writes
	leading  bool       // a leader is writing
	idle     *sync.Cond // signalled when leading becomes false
	closed   bool
	changed  chan struct{} // closed with the next entry; nil without waiters
	seq      uint64        // of the last entry
	segments []*segment    // oldest first

	// The following fields belong to the leader.

	out        file     // the last segment; nil: not open
	persisted  bool     // the instance id is in the folder
	rotate     bool     // the last segment is damaged: continue in a new one
	dirty      bool     // the last segment may have bytes after its last entry
	unfinished int      // executions that have not ended
	reserved   int64    // end of the space reserved for the last segment
	outOfRoom  bool     // the reservation could not be restored: reject new executions
	stale      []string // segments without a readable entry, to be removed
}

// Open opens the journal in a folder or begins a new one; the first Append creates the folder.
// Without a folder the journal is kept in memory. Open fails if existing files cannot be read; if
// the folder cannot be written, Append fails.
func Open(dir string, o Options) (*Journal, Replay, error) {
	if dir == "" {
		return open(newMemory(), func() error { return nil }, o)
	}
	d := &folder{dir: dir}
	if err := d.lock(); err != nil {
		return nil, Replay{}, fmt.Errorf("cannot open the journal in %s: %w", dir, err)
	}
	j, replay, err := open(d, d.unlock, o)
	if err != nil {
		_ = d.unlock()
		return nil, Replay{}, fmt.Errorf("cannot open the journal in %s: %w", dir, err)
	}
	return j, replay, nil
}

func open(s storage, release func() error, o Options) (*Journal, Replay, error) {
	if o.SegmentBytes <= 0 {
		o.SegmentBytes = DefaultSegmentBytes
	}
	if o.Segments <= 0 {
		o.Segments = DefaultSegments
	}
	o.Segments = max(o.Segments, 2)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	j := &Journal{o: o, storage: s, release: release}
	j.idle = sync.NewCond(&j.mu)
	replay, err := j.recover()
	if err != nil {
		return nil, Replay{}, err
	}
	if j.instance == "" {
		id := make([]byte, 8)
		if _, err := io.ReadFull(o.Random, id); err != nil {
			return nil, Replay{}, fmt.Errorf("cannot draw an instance id: %w", err)
		}
		j.instance = hex.EncodeToString(id)
	}
	replay.Instance = j.instance
	return j, replay, nil
}

// Instance returns the random id of this container's journal.
func (j *Journal) Instance() string { return j.instance }

// Seq returns the number of the last entry, or 0.
func (j *Journal) Seq() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.seq
}

// Cursor returns the position after an entry of this journal, for Read.
func (j *Journal) Cursor(seq uint64) string { return fmt.Sprintf("%s:%d", j.instance, seq) }

// validInstance reports whether an id can stand in a cursor.
func validInstance(id string) bool {
	return id != "" && len(id) <= 64 && strings.Trim(id, "0123456789abcdef") == ""
}

// Close waits for running appends and wakes all waiting readers.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil
	}
	j.closed = true
	for j.leading {
		j.idle.Wait()
	}
	j.notifyReaders()
	if j.out != nil {
		j.out.Close()
	}
	return j.release()
}

// notifyReaders wakes waiting readers. The caller holds the lock.
func (j *Journal) notifyReaders() {
	if j.changed != nil {
		close(j.changed)
		j.changed = nil
	}
}
