package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toskose/toskose/unit/wire"
)

// book is the least that a unit keeps: the last state of each component, and
// how many entries it was told of.
type book struct {
	states map[string]string
	told   uint64
}

func (b *book) apply(e wire.Entry) {
	if b.states == nil {
		b.states = map[string]string{}
	}
	b.told++
	b.states[e.Component] = e.State
}

func (b *book) checkpoint() []wire.Checkpointed {
	var list []wire.Checkpointed
	for name, state := range b.states {
		list = append(list, wire.Checkpointed{Component: name, State: state})
	}
	return list
}

func (b *book) options(o Options) Options {
	o.Apply, o.Checkpoint = b.apply, b.checkpoint
	return o
}

func mustOpen(t *testing.T, dir string, o Options) (*Journal, Replay) {
	t.Helper()
	j, replay, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j, replay
}

func entry(component, state string) wire.Entry {
	return wire.Entry{Kind: wire.EntryExit, Component: component, State: state}
}

func mustAppend(t *testing.T, j *Journal, component, state string) wire.Entry {
	t.Helper()
	e, err := j.Append(entry(component, state))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// inBoth runs a test on a journal in a folder and on one in memory.
func inBoth(t *testing.T, test func(t *testing.T, dir string)) {
	t.Helper()
	t.Run("folder", func(t *testing.T) { t.Parallel(); test(t, filepath.Join(t.TempDir(), "journal")) })
	t.Run("memory", func(t *testing.T) { t.Parallel(); test(t, "") })
}

func TestTheFirstEntryFollowsACheckpoint(t *testing.T) {
	t.Parallel()
	inBoth(t, func(t *testing.T, dir string) {
		now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
		j, replay := mustOpen(t, dir, Options{Now: func() time.Time { return now }})
		if len(replay.Entries) != 0 || len(replay.Notes) != 0 || replay.Instance != j.Instance() || len(j.Instance()) != 16 {
			t.Fatalf("replay of a new journal: %+v, instance %q", replay, j.Instance())
		}
		e := mustAppend(t, j, "api", "created")
		if e.Seq != 2 || e.Instance != j.Instance() || !e.Time.Equal(now) {
			t.Fatalf("the appended entry is %+v", e)
		}
		page, err := j.Read("", 0)
		if err != nil || !page.Reset || page.Cursor != j.Instance()+":2" || len(page.Entries) != 2 {
			t.Fatalf("Read: %+v, %v", page, err)
		}
		if page.Entries[0].Kind != wire.EntryCheckpoint || page.Entries[0].Seq != 1 || page.Entries[1].State != "created" {
			t.Fatalf("entries: %+v", page.Entries)
		}
	})
}

func TestAReaderGoesOnWhereItsCursorStands(t *testing.T) {
	t.Parallel()
	inBoth(t, func(t *testing.T, dir string) {
		j, _ := mustOpen(t, dir, Options{})
		for i := range 10 {
			mustAppend(t, j, "api", fmt.Sprint(i))
		}
		var states []string
		cursor := j.Cursor(1)
		for {
			page, err := j.Read(cursor, 3)
			if err != nil || page.Reset {
				t.Fatalf("Read(%q): %+v, %v", cursor, page, err)
			}
			if len(page.Entries) == 0 {
				break
			}
			for _, e := range page.Entries {
				states = append(states, e.State)
			}
			cursor = page.Cursor
		}
		if got := strings.Join(states, ""); got != "0123456789" {
			t.Fatalf("read the states %s", got)
		}
	})
}

func TestACursorThatIsNotOursBeginsAtTheBeginning(t *testing.T) {
	t.Parallel()
	j, _ := mustOpen(t, "", Options{})
	mustAppend(t, j, "api", "created")
	for _, cursor := range []string{"", "feedfacefeedface:1", j.Cursor(3), j.Cursor(1 << 60)} {
		page, err := j.Read(cursor, 0)
		if err != nil || !page.Reset || len(page.Entries) != 2 || page.Entries[0].Kind != wire.EntryCheckpoint {
			t.Errorf("Read(%q): %+v, %v", cursor, page, err)
		}
	}
	for _, cursor := range []string{j.Cursor(0), j.Cursor(1), j.Cursor(2)} {
		if page, err := j.Read(cursor, 0); err != nil || page.Reset {
			t.Errorf("Read(%q): %+v, %v", cursor, page, err)
		}
	}
	for _, cursor := range []string{"1", ":1", "x:", "x:-1", "x:1:2"} {
		_, err := j.Read(cursor, 0)
		if code, _ := wire.FaultCodeOf(err); code != wire.BadArguments {
			t.Errorf("Read(%q): %v", cursor, err)
		}
		if err := j.Wait(t.Context(), cursor); err == nil {
			t.Errorf("Wait(%q) gives no error", cursor)
		}
	}
}

func TestAJournalIsBoundedAndBeginsWithTheStatesOfItsCheckpoint(t *testing.T) {
	t.Parallel()
	inBoth(t, func(t *testing.T, dir string) {
		var b book
		j, _ := mustOpen(t, dir, b.options(Options{SegmentBytes: 1 << 10, Segments: 3}))
		first := mustAppend(t, j, "old", "kept")
		for i := range 200 {
			mustAppend(t, j, "api", fmt.Sprint(i))
			page, err := j.Read("", 1)
			if err != nil || !page.Reset || page.Entries[0].Kind != wire.EntryCheckpoint {
				t.Fatalf("Read after %d entries: %+v, %v", i, page, err)
			}
		}
		if len(j.segments) != 3 {
			t.Fatalf("%d segments are kept", len(j.segments))
		}
		page, err := j.Read(j.Cursor(first.Seq), 0)
		if err != nil || !page.Reset {
			t.Fatalf("Read of a forgotten entry: %+v, %v", page, err)
		}
		// The oldest checkpoint says what is no longer told.
		var folded book
		for _, e := range page.Entries {
			if e.Kind == wire.EntryCheckpoint {
				folded.states = map[string]string{}
				for _, c := range e.Components {
					folded.states[c.Component] = c.State
				}
				continue
			}
			folded.apply(e)
		}
		if folded.states["old"] != "kept" || folded.states["api"] != "199" {
			t.Fatalf("the states are %v", folded.states)
		}
		for i, e := range page.Entries[1:] {
			if e.Seq != page.Entries[i].Seq+1 {
				t.Fatalf("entry %d follows entry %d", e.Seq, page.Entries[i].Seq)
			}
		}
	})
}

func TestALargeCheckpointDoesNotRotateEveryEntry(t *testing.T) {
	t.Parallel()
	large := []wire.Checkpointed{{Component: strings.Repeat("x", 10_000)}}
	j, _ := mustOpen(t, "", Options{SegmentBytes: 1000, Checkpoint: func() []wire.Checkpointed { return large }})
	for range 3 {
		mustAppend(t, j, "api", "created")
	}
	if len(j.segments) != 1 {
		t.Fatalf("%d segments", len(j.segments))
	}
}

func TestARestartGoesOnFromTheLastCheckpoint(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var b book
	j, _ := mustOpen(t, dir, b.options(Options{SegmentBytes: 1 << 10}))
	for i := range 50 {
		mustAppend(t, j, "api", fmt.Sprint(i))
	}
	last := j.Seq()
	j.Close()

	again, replay := mustOpen(t, dir, Options{})
	if again.Instance() != j.Instance() || again.Seq() != last || len(replay.Notes) != 0 {
		t.Fatalf("opened again: %+v, seq %d", replay, again.Seq())
	}
	if n := len(replay.Entries); n < 2 || n > 20 || replay.Entries[0].Kind != wire.EntryCheckpoint || replay.Entries[n-1].State != "49" {
		t.Fatalf("replayed: %+v", replay.Entries)
	}
	if e := mustAppend(t, again, "api", "50"); e.Seq != last+1 {
		t.Fatalf("the next entry is %d, not %d", e.Seq, last+1)
	}
	page, err := again.Read(j.Cursor(last-3), 0)
	if err != nil || page.Reset || len(page.Entries) != 4 {
		t.Fatalf("Read across the restart: %+v, %v", page, err)
	}
}

func TestANewFolderIsANewInstance(t *testing.T) {
	t.Parallel()
	a, _ := mustOpen(t, t.TempDir(), Options{})
	b, _ := mustOpen(t, t.TempDir(), Options{})
	if a.Instance() == b.Instance() {
		t.Fatalf("both are %s", a.Instance())
	}
	if _, _, err := open(newMemory(), nil, Options{Random: strings.NewReader("short")}); err == nil {
		t.Fatal("no error without random bytes")
	}
}

func TestTwoUnitsCannotShareAFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, _ := mustOpen(t, dir, Options{})
	if _, _, err := Open(dir, Options{}); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), dir) {
		t.Fatalf("the second Open: %v", err)
	}
	j.Close()
	mustOpen(t, dir, Options{})
}

func TestAnInstanceThatCannotBeReadIsTakenFromTheEntries(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, _ := mustOpen(t, dir, Options{})
	mustAppend(t, j, "api", "created")
	j.Close()
	if err := os.WriteFile(filepath.Join(dir, instanceName), []byte("\x00\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	again, replay := mustOpen(t, dir, Options{})
	if again.Instance() != j.Instance() || len(replay.Notes) != 1 || len(replay.Entries) != 2 {
		t.Fatalf("instance %s, was %s; %+v", again.Instance(), j.Instance(), replay)
	}
	mustAppend(t, again, "api", "started")
	data, err := os.ReadFile(filepath.Join(dir, instanceName))
	if err != nil || string(data) != j.Instance()+"\n" {
		t.Fatalf("the folder has the instance %q, %v", data, err)
	}
}

func TestAFlippedBitOfTheInstanceVoidsNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, _ := mustOpen(t, dir, Options{})
	mustAppend(t, j, "api", "created")
	j.Close()
	path := filepath.Join(dir, instanceName)
	for i := range len(j.Instance()) {
		for _, digit := range []byte("0f") { // another instance, by its form
			id := []byte(j.Instance() + "\n")
			same := id[i] == digit
			id[i] = digit
			if err := os.WriteFile(path, id, 0o600); err != nil {
				t.Fatal(err)
			}
			again, replay, err := Open(dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if again.Instance() != j.Instance() || lastState(replay.Entries) != "created" || same != (len(replay.Notes) == 0) {
				t.Fatalf("with %c at %d: instance %s, was %s; %+v", digit, i, again.Instance(), j.Instance(), replay)
			}
			mustAppend(t, again, "api", "created")
			again.Close()
			if data, err := os.ReadFile(path); err != nil || string(data) != j.Instance()+"\n" {
				t.Fatalf("the folder has the instance %q, %v", data, err)
			}
		}
	}
	if _, err := os.Stat(path + ".new"); err == nil {
		t.Error("a file is left beside the instance's")
	}
}

func TestAppendsAtTheSameTimeShareASync(t *testing.T) {
	t.Parallel()
	slow := &counting{storage: newMemory(), gate: make(chan struct{})}
	var b book
	j, _, err := open(slow, func() error { return nil }, b.options(Options{}))
	if err != nil {
		t.Fatal(err)
	}
	const appends = 50
	var all sync.WaitGroup
	seqs := make([]uint64, appends)
	for i := range appends {
		all.Go(func() {
			e, err := j.Append(entry("api", "x"))
			if err != nil {
				t.Error(err)
			}
			seqs[i] = e.Seq
		})
	}
	slow.gate <- struct{}{} // the leader is in its first sync
	for queued := 0; queued < appends-1; {
		j.mu.Lock()
		queued = len(j.queue)
		j.mu.Unlock()
	}
	close(slow.gate)
	all.Wait()
	// The first checkpoint, the leader's own entry, all others.
	if slow.syncs != 3 || b.told != appends {
		t.Errorf("%d syncs, told of %d entries", slow.syncs, b.told)
	}
	seen := map[uint64]bool{}
	for _, seq := range seqs {
		if seq < 2 || seq > appends+1 || seen[seq] {
			t.Errorf("the number %d is out of range or given twice", seq)
		}
		seen[seq] = true
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestWaitReturnsWithTheNextEntry(t *testing.T) {
	t.Parallel()
	j, _ := mustOpen(t, "", Options{})
	first := mustAppend(t, j, "api", "created")
	if err := j.Wait(t.Context(), ""); err != nil {
		t.Fatalf("waiting for what is there: %v", err)
	}
	woken := make(chan error, 2)
	for range cap(woken) {
		go func() { woken <- j.Wait(t.Context(), j.Cursor(first.Seq)) }()
	}
	mustAppend(t, j, "api", "started")
	for range cap(woken) {
		if err := <-woken; err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { woken <- j.Wait(ctx, j.Cursor(j.Seq())) }()
	cancel()
	if err := <-woken; !errors.Is(err, context.Canceled) {
		t.Fatalf("a cancelled wait: %v", err)
	}
}

func TestCloseEndsEverything(t *testing.T) {
	t.Parallel()
	j, _ := mustOpen(t, "", Options{})
	last := mustAppend(t, j, "api", "created")
	waited := make(chan error)
	go func() { waited <- j.Wait(context.WithoutCancel(t.Context()), j.Cursor(last.Seq)) }()
	j.Close()
	if err := <-waited; !errors.Is(err, ErrClosed) {
		t.Errorf("Wait: %v", err)
	}
	if _, err := j.Append(entry("api", "x")); !errors.Is(err, ErrClosed) || !errors.Is(err, ErrUnavailable) {
		t.Errorf("Append: %v", err)
	}
	if _, err := j.Read("", 0); !errors.Is(err, ErrClosed) {
		t.Errorf("Read: %v", err)
	}
	if err := j.Close(); err != nil {
		t.Errorf("Close again: %v", err)
	}
}

func TestReadersAndWritersAtTheSameTimeSeeEveryEntryOnce(t *testing.T) {
	t.Parallel()
	inBoth(t, func(t *testing.T, dir string) {
		j, _ := mustOpen(t, dir, Options{SegmentBytes: 4 << 10, Segments: 100})
		const writers, each = 4, 50
		var all sync.WaitGroup
		for range writers {
			all.Go(func() {
				for range each {
					if _, err := j.Append(entry("api", "x")); err != nil {
						t.Error(err)
					}
				}
			})
		}
		seen, last, cursor := 0, uint64(0), j.Cursor(0)
		for seen < writers*each {
			if err := j.Wait(t.Context(), cursor); err != nil {
				t.Fatal(err)
			}
			page, err := j.Read(cursor, 7)
			if err != nil || page.Reset {
				t.Fatalf("Read(%q): %+v, %v", cursor, page, err)
			}
			for _, e := range page.Entries {
				if e.Seq != last+1 {
					t.Fatalf("entry %d follows entry %d", e.Seq, last)
				}
				last = e.Seq
				if e.Kind != wire.EntryCheckpoint {
					seen++
				}
			}
			cursor = page.Cursor
		}
		all.Wait()
	})
}

func TestAnEntryThatCannotBeEncodedHarmsNoOther(t *testing.T) {
	t.Parallel()
	j, _ := mustOpen(t, "", Options{})
	bad := entry("api", "x")
	bad.Time = time.Date(100000, 1, 1, 0, 0, 0, 0, time.UTC)
	if _, err := j.Append(bad); err == nil || errors.Is(err, ErrUnavailable) {
		t.Fatalf("Append: %v", err)
	}
	if e := mustAppend(t, j, "api", "created"); e.Seq != 2 {
		t.Fatalf("the next entry is %d", e.Seq)
	}
}
