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
	// ErrUnavailable is in the chain of the error of an Append whose entry
	// could not be written. Nothing of it remains, and a later Append may work.
	ErrUnavailable = errors.New("the journal cannot be written")
	// ErrClosed is the error of every method after Close.
	ErrClosed = errors.New("the journal is closed")
	// ErrInUse is in the chain of the error of Open for a folder that another
	// unit has locked.
	ErrInUse = errors.New("another unit writes there")
)

// The defaults of Options.
const (
	DefaultSegmentBytes = 256 << 10
	DefaultSegments     = 4
)

// How much room the last segment keeps on the disk for entries to come: half of
// reserveBytes at least, and endBytes for each execution that has begun.
const (
	reserveBytes = 64 << 10
	endBytes     = 2 << 10
)

// Options of a journal.
type Options struct {
	SegmentBytes int64 // a new segment begins when the last has so many bytes after its checkpoint; 0: DefaultSegmentBytes
	Segments     int   // how many are kept, at least 2; 0: DefaultSegments

	// Checkpoint returns all states as of the last entry passed to Apply.
	// nil: checkpoints are empty.
	Checkpoint func() []wire.Checkpointed

	// Apply is called with each appended entry, in order, once it is on disk
	// and before a reader sees it or its Append returns; not with checkpoints,
	// and not with what Open replays. May be nil.
	//
	// Apply and Checkpoint are called from within Append, one call at a time,
	// and must not call the journal. If several goroutines append at the same
	// time, the calling goroutine need not be the one whose entry it is.
	Apply func(wire.Entry)

	Now    func() time.Time // nil: time.Now
	Random io.Reader        // source of the instance id; nil: crypto/rand
}

// Replay is what an earlier run of the unit left.
type Replay struct {
	Instance string
	Entries  []wire.Entry // the last readable checkpoint, and what came after it
	Notes    []string     // a sentence for each damage found
}

// Journal is an append-only list of entries. It is safe for concurrent use.
type Journal struct {
	o        Options
	storage  storage
	release  func() error
	instance string

	mu       sync.Mutex
	queue    []*request // entries that the next leader writes
	leading  bool       // an Append is writing
	rested   *sync.Cond // leading has become false
	closed   bool
	changed  chan struct{} // closed with the next entry; nil: nobody waits
	seq      uint64        // of the last entry
	segments []*segment    // oldest first

	// The following belong to the leader.

	out       file     // the last segment; nil: not open
	persisted bool     // the instance id is in the folder
	rotate    bool     // the last segment is damaged: go on in a new one
	dirty     bool     // the last segment may have bytes after its last entry
	begun     int      // executions that have not ended
	reserved  int64    // end of the room that the last segment has for certain
	scarce    bool     // that could not be restored: nothing new is begun
	stale     []string // segments without a readable entry, to be removed
}

// Open opens the journal in a folder, or begins one; the first Append creates the
// folder. Without a folder the journal is kept in memory. Open fails if what is
// there cannot be read; a folder that cannot be written fails at Append.
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
	j.rested = sync.NewCond(&j.mu)
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

// Seq returns the number of the last entry; 0: there is none.
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

// Close waits for appends under way and wakes all readers that wait.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil
	}
	j.closed = true
	for j.leading {
		j.rested.Wait()
	}
	j.wake()
	if j.out != nil {
		j.out.Close()
	}
	return j.release()
}

// wake wakes those who wait. The caller holds the lock.
func (j *Journal) wake() {
	if j.changed != nil {
		close(j.changed)
		j.changed = nil
	}
}
