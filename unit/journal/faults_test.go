package journal

import (
	"errors"
	"sync"
	"syscall"
	"testing"

	"github.com/toskose/toskose/unit/wire"
)

// counting counts syncs, and holds the first one up at a gate.
type counting struct {
	storage
	gate  chan struct{}
	mu    sync.Mutex
	syncs int
}

func (c *counting) open(name string) (file, error) {
	f, err := c.storage.open(name)
	return &countedFile{f, c}, err
}

type countedFile struct {
	file
	of *counting
}

func (f *countedFile) Sync() error {
	<-f.of.gate
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	f.of.syncs++
	return f.file.Sync()
}

// disk is a storage with so much room, whose operations fail by name.
type disk struct {
	storage
	mu    sync.Mutex
	room  int             // bytes that can still be written
	fails map[string]bool // open, write, sync, truncate, remove
}

func newDisk() *disk { return &disk{storage: newMemory(), room: 1 << 30, fails: map[string]bool{}} }

func (d *disk) set(room int, failing ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room, d.fails = room, map[string]bool{}
	for _, operation := range failing {
		d.fails[operation] = true
	}
}

func (d *disk) failing(operation string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fails[operation] {
		return syscall.EROFS
	}
	return nil
}

func (d *disk) open(name string) (file, error) {
	if err := d.failing("open"); err != nil {
		return nil, err
	}
	f, err := d.storage.open(name)
	return &diskFile{f, d}, err
}

// replace needs room for a file beside the one that it replaces.
func (d *disk) replace(name string, data []byte) error {
	f, err := d.open(name + ".new")
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err = f.WriteAt(data, 0); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = d.storage.replace(name, data)
	}
	return err
}

func (d *disk) remove(name string) error {
	if err := d.failing("remove"); err != nil {
		return err
	}
	return d.storage.remove(name)
}

type diskFile struct {
	file
	d *disk
}

// WriteAt writes what there is room for, as a full disk does.
func (f *diskFile) WriteAt(p []byte, at int64) (int, error) {
	if err := f.d.failing("write"); err != nil {
		return 0, err
	}
	f.d.mu.Lock()
	n := min(len(p), f.d.room)
	f.d.room -= n
	f.d.mu.Unlock()
	if _, err := f.file.WriteAt(p[:n], at); err != nil {
		return 0, err
	}
	if n < len(p) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

func (f *diskFile) Sync() error {
	if err := f.d.failing("sync"); err != nil {
		return err
	}
	return f.file.Sync()
}

func (f *diskFile) Truncate(size int64) error {
	if err := f.d.failing("truncate"); err != nil {
		return err
	}
	return f.file.Truncate(size)
}

func openDisk(t *testing.T, d *disk, o Options) (*Journal, Replay) {
	t.Helper()
	j, replay, err := open(d, func() error { return nil }, o)
	if err != nil {
		t.Fatal(err)
	}
	return j, replay
}

// wantReopened checks that a journal that is opened anew has the states, and
// nothing to repair.
func wantReopened(t *testing.T, d *disk, seq uint64, states ...string) {
	t.Helper()
	j, replay := openDisk(t, d, Options{})
	var got []string
	for _, e := range replay.Entries {
		if e.Kind != wire.EntryCheckpoint {
			got = append(got, e.State)
		}
	}
	if len(got) != len(states) || j.Seq() != seq || len(replay.Notes) != 0 {
		t.Fatalf("reopened: %v, seq %d, %q; want %v, seq %d", got, j.Seq(), replay.Notes, states, seq)
	}
	for i := range got {
		if got[i] != states[i] {
			t.Fatalf("reopened: %v, want %v", got, states)
		}
	}
}

func TestWhileNothingCanBeWrittenAppendFailsAndLaterWorks(t *testing.T) {
	t.Parallel()
	for name, failing := range map[string][]string{
		"no file can be opened":                    {"open"},
		"no byte can be written":                   {"write"},
		"nothing can be synced":                    {"sync"},
		"nothing can be written, cut":              {"write", "truncate"},
		"nothing can be synced, cut":               {"sync", "truncate"},
		"nothing can be synced, cut nor removed":   {"sync", "truncate", "remove"},
		"nothing at all, as on a read-only system": {"open", "write", "sync", "truncate", "remove"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b book
			d := newDisk()
			d.set(1<<30, failing...)
			j, _ := openDisk(t, d, b.options(Options{}))
			for range 2 {
				if _, err := j.Append(entry("api", "never")); !errors.Is(err, ErrUnavailable) || !errors.Is(err, syscall.EROFS) {
					t.Fatalf("Append: %v", err)
				}
			}
			d.set(1 << 30)
			mustAppend(t, j, "api", "created")
			d.set(1<<30, failing...)
			failed := 0
			for range 2 {
				if _, err := j.Append(entry("api", "never")); err != nil {
					failed++
				}
			}
			d.set(1 << 30)
			mustAppend(t, j, "api", "started")
			if failed == 0 { // an open file needs no opening
				wantReopened(t, d, 5, "created", "never", "never", "started")
				return
			}
			if b.told != 2 {
				t.Errorf("told of %d entries", b.told)
			}
			wantReopened(t, d, 3, "created", "started")
		})
	}
}

func TestAFullDiskAtEveryByteLosesNothingThatWasAcknowledged(t *testing.T) {
	t.Parallel()
	for room := range 1200 {
		d := newDisk()
		var b book
		j, _ := openDisk(t, d, b.options(Options{SegmentBytes: 300, Segments: 2}))
		d.set(room)
		var written []string
		for _, state := range []string{"a", "b", "c", "d", "e", "f"} {
			if _, err := j.Append(entry("api", state)); err == nil {
				written = append(written, state)
			} else if !errors.Is(err, ErrUnavailable) || !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("room for %d bytes: %v", room, err)
			}
		}
		if uint64(len(written)) != b.told {
			t.Fatalf("room for %d bytes: %d appended, told of %d", room, len(written), b.told)
		}
		_, replay := openDisk(t, d, Options{})
		if got, want := lastState(replay.Entries), last(written); got != want {
			t.Fatalf("room for %d bytes: the last state is %q, not %q", room, got, want)
		}
		d.set(1 << 30)
		mustAppend(t, j, "api", "z")
		_, replay = openDisk(t, d, Options{})
		if got := lastState(replay.Entries); got != "z" || len(replay.Notes) != 0 {
			t.Fatalf("room for %d bytes: the last state is %q; %q", room, got, replay.Notes)
		}
	}
}

func last(states []string) string {
	if len(states) == 0 {
		return ""
	}
	return states[len(states)-1]
}

// lastState folds entries into the state of their only component.
func lastState(entries []wire.Entry) string {
	state := ""
	for _, e := range entries {
		switch {
		case e.Kind != wire.EntryCheckpoint:
			state = e.State
		case len(e.Components) > 0:
			state = e.Components[0].State
		}
	}
	return state
}
