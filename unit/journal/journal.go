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
	// ErrUnavailable is in the chain of the error of an Append that could not
	// be written. Nothing of the entry remains, and a later Append may work.
	ErrUnavailable = errors.New("the journal cannot be written")
	// ErrClosed is the error of all methods after Close.
	ErrClosed = errors.New("the journal is closed")
	// ErrInUse is in the chain of the error of Open for a folder that another
	// unit's journal is in.
	ErrInUse = errors.New("another unit writes there")
)

// What Options have where they say nothing.
const (
	DefaultSegmentBytes = 256 << 10
	DefaultSegments     = 4
)

// Options of a journal.
type Options struct {
	SegmentBytes int64 // a segment with so many bytes after its checkpoint is the last but one; 0: DefaultSegmentBytes
	Segments     int   // kept, at least 2; 0: DefaultSegments

	// Checkpoint gives all states as they are after the last entry that Apply
	// was told of. nil: a checkpoint is empty.
	Checkpoint func() []wire.Checkpointed

	// Apply is told of each appended entry, in order, once it is on the disk
	// and before a reader sees it or its Append returns; not of checkpoints,
	// and not of what Open replays. nil: nobody is told.
	//
	// Apply and Checkpoint are called from within Append, never two calls at
	// once, and must not call the journal. Where several goroutines append at
	// the same time, the one that is called from may be another than the one
	// whose entry it is.
	Apply func(wire.Entry)

	Now    func() time.Time // nil: time.Now
	Random io.Reader        // for the instance id; nil: crypto/rand
}

// Replay is what an earlier run of the unit left.
type Replay struct {
	Instance string
	Entries  []wire.Entry // the last readable checkpoint, and what came after it
	Notes    []string     // a sentence for each thing that was damaged
}

// Journal is an append-only list of entries. All methods may be called at once
// by several goroutines.
type Journal struct {
	o        Options
	storage  storage
	release  func() error
	instance string

	mu       sync.Mutex
	queue    []*pending // entries that the next leader writes
	leading  bool       // somebody writes
	rested   *sync.Cond // leading has become false
	closed   bool
	changed  chan struct{} // closed with the next entry; nil: nobody waits
	seq      uint64        // of the last entry
	segments []*segment    // oldest first

	// The rest is the leader's.

	out       file     // the last segment; nil: not open
	persisted bool     // the instance id is in the folder
	rotate    bool     // the last segment is damaged: go on in a new one
	dirty     bool     // the last segment may have bytes after its last entry
	stale     []string // files without a readable entry, to be removed
}

// Open opens the journal in a folder, or begins one; the folder is made by the
// first Append. With no folder the journal is kept in memory. The error says
// why what is there cannot be read: that it cannot be written shows later.
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

// Instance gives the random id of this container's journal.
func (j *Journal) Instance() string { return j.instance }

// Seq gives the number of the last entry; 0: there is none.
func (j *Journal) Seq() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.seq
}

// Cursor gives the place after an entry of this journal, as Read takes it.
func (j *Journal) Cursor(seq uint64) string { return fmt.Sprintf("%s:%d", j.instance, seq) }

// validInstance tells whether an id can stand in a cursor.
func validInstance(id string) bool {
	return id != "" && len(id) <= 64 && strings.Trim(id, "0123456789abcdef") == ""
}

// Close waits for the appends under way and ends all that wait.
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

// wake tells those who wait. It is called with the lock held.
func (j *Journal) wake() {
	if j.changed != nil {
		close(j.changed)
		j.changed = nil
	}
}
