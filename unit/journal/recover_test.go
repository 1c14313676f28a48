package journal

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toskose/toskose/unit/wire"
)

// written makes a journal of two segments and gives its files.
func written(t testing.TB) map[string][]byte {
	t.Helper()
	dir := t.TempDir()
	var b book
	j, _, err := Open(dir, b.options(Options{SegmentBytes: 500, Random: strings.NewReader("8 random bytes")}))
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for i := range 8 {
		if _, err := j.Append(entry("api", fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	files := map[string][]byte{}
	names, err := (&folder{dir: dir}).list()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if files[name], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// load opens a journal of files in memory.
func load(t testing.TB, files map[string][]byte) (*Journal, Replay) {
	t.Helper()
	m := newMemory()
	for name, data := range files {
		m.files[name] = &memoryFile{data: slices.Clone(data)}
	}
	j, replay, err := open(m, func() error { return nil }, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return j, replay
}

func segmentsOf(files map[string][]byte) []string {
	var names []string
	for name := range files {
		if isSegment(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestACrashAtEveryByteOfTheLastSegmentKeepsWhatWasWhole(t *testing.T) {
	t.Parallel()
	files := written(t)
	names := segmentsOf(files)
	name := names[len(names)-1]
	whole := files[name]
	before, _ := load(t, map[string][]byte{instanceName: files[instanceName], names[0]: files[names[0]]})
	for cut := range len(whole) + 1 {
		files[name] = whole[:cut]
		j, replay := load(t, files)
		lines := bytes.Count(whole[:cut], []byte("\n"))
		if got, want := j.Seq(), before.Seq()+uint64(lines); len(names) == 2 && got != want {
			t.Fatalf("cut at %d: the last entry is %d, not %d", cut, got, want)
		}
		torn := cut > 0 && whole[cut-1] != '\n' || cut == 0
		if torn != (len(replay.Notes) > 0) {
			t.Fatalf("cut at %d: notes %q", cut, replay.Notes)
		}
		if replay.Entries[0].Kind != wire.EntryCheckpoint {
			t.Fatalf("cut at %d: replay begins with %+v", cut, replay.Entries[0])
		}
		// It goes on, and what it writes can be read without a complaint
		// about the place where it was cut.
		seq := j.Seq()
		e := mustAppend(t, j, "api", "after")
		if e.Seq <= seq || e.Seq > seq+2 {
			t.Fatalf("cut at %d: the next entry is %d after %d", cut, e.Seq, seq)
		}
		again, replay, err := open(j.storage, func() error { return nil }, Options{})
		if err != nil || len(replay.Notes) != 0 || again.Seq() != e.Seq || lastState(replay.Entries) != "after" {
			t.Fatalf("cut at %d, opened again: %+v, %v", cut, replay, err)
		}
	}
}

func TestADamagedLineIsPassedOverAndReported(t *testing.T) {
	t.Parallel()
	files := written(t)
	names := segmentsOf(files)
	name := names[len(names)-1]
	lines := bytes.SplitAfter(files[name], []byte("\n"))
	lines = lines[:len(lines)-1]
	if len(lines) < 3 {
		t.Fatalf("the last segment has %d lines", len(lines))
	}
	for i, line := range lines {
		for what, damaged := range map[string][]byte{
			"zeroes":           append(make([]byte, len(line)-1), '\n'),
			"a zero":           bytes.Replace(line, []byte("kind"), []byte("ki\x00d"), 1),
			"another instance": bytes.Replace(line, []byte(`"instance":"`), []byte(`"instance":"f`), 1),
			"a bad number":     bytes.Replace(line, []byte(`{"seq":`), []byte(`{"seq":0`), 1),
			"a lower number":   bytes.Replace(line, linePrefix, []byte(`{"seq":1,"seq":`), 1),
			"garbage":          []byte("}}}}\n"),
		} {
			copied := map[string][]byte{}
			for other, data := range files {
				copied[other] = data
			}
			copied[name] = bytes.Join(slices.Concat(lines[:i], [][]byte{damaged}, lines[i+1:]), nil)
			j, replay := load(t, copied)
			if len(replay.Notes) == 0 {
				t.Errorf("%s in line %d: nothing is reported", what, i+1)
			}
			if len(replay.Entries) == 0 || replay.Entries[0].Kind != wire.EntryCheckpoint {
				t.Errorf("%s in line %d: replay begins with no checkpoint: %+v", what, i+1, replay.Entries)
			}
			want := "7"
			if i == len(lines)-1 {
				want = lastState(replay.Entries) // the line itself is gone
			}
			if got := lastState(replay.Entries); got != want {
				t.Errorf("%s in line %d: the last state is %s", what, i+1, got)
			}
			mustAppend(t, j, "api", "after")
			if page, err := j.Read("", 0); err != nil || page.Entries[len(page.Entries)-1].State != "after" {
				t.Errorf("%s in line %d: Read: %+v, %v", what, i+1, page, err)
			}
		}
	}
}

func TestAFolderWithoutAnyCheckpointSaysSo(t *testing.T) {
	t.Parallel()
	files := written(t)
	for _, name := range segmentsOf(files) {
		_, rest, _ := bytes.Cut(files[name], []byte("\n"))
		files[name] = rest
	}
	j, replay := load(t, files)
	if len(replay.Entries) != 8 || len(replay.Notes) != 1 || !strings.Contains(replay.Notes[0], "no checkpoint") {
		t.Fatalf("%+v", replay)
	}
	mustAppend(t, j, "api", "after")
	_, replay, err := open(j.storage, nil, Options{})
	if err != nil || len(replay.Notes) != 0 || len(replay.Entries) != 2 {
		t.Fatalf("opened again: %+v, %v", replay, err)
	}
}

func TestFilesThatAreNotSegmentsAreLeftAlone(t *testing.T) {
	t.Parallel()
	files := written(t)
	files["README"], files["1.jsonl"], files["0000000000000000000x.jsonl"] = []byte("x"), []byte("x"), []byte("x")
	j, replay := load(t, files)
	if len(replay.Notes) != 0 {
		t.Fatalf("notes: %q", replay.Notes)
	}
	for range 100 {
		mustAppend(t, j, "api", "x")
	}
	if names, _ := j.storage.list(); !slices.Contains(names, "README") {
		t.Fatalf("the folder has %v", names)
	}
}

func TestAFlippedBitIsFoundWhereverItIs(t *testing.T) {
	t.Parallel()
	files := written(t)
	names := segmentsOf(files)
	name := names[len(names)-1]
	whole := files[name]
	lines := bytes.SplitAfter(whole, []byte("\n"))
	last := len(whole) - len(lines[len(lines)-2]) // of the last line, whose loss changes the state
	for at := last; at < len(whole)-1; at++ {
		files[name] = slices.Clone(whole)
		files[name][at] ^= 1 << (at % 8)
		if j, replay := load(t, files); len(replay.Notes) == 0 || lastState(replay.Entries) == "7" {
			t.Fatalf("a bit of byte %d, %q: entry %d, %+v", at, files[name][last:], j.Seq(), replay)
		}
	}
}

// FuzzRecovery: whatever is in the folder, the journal opens, can be written,
// and is then readable from its beginning.
func FuzzRecovery(f *testing.F) {
	files := written(f)
	names := segmentsOf(files)
	f.Add(files[instanceName], files[names[0]], files[names[1]])
	f.Add([]byte(""), files[names[0]], []byte("{\"seq\":1,\n"))
	f.Add([]byte(""), []byte("{"), []byte(`{"seq":7,"kind":"boot"}`+"\n"))
	f.Add([]byte("x:y"), []byte("\x00\x00\n"), []byte(`{"seq":18446744073709551615,"instance":"aa","kind":"boot"}`+"\n"))
	f.Fuzz(func(t *testing.T, instance, first, second []byte) {
		j, replay := load(t, map[string][]byte{
			instanceName: instance, segmentName(1): first, segmentName(1000): second,
		})
		for i, e := range replay.Entries {
			if e.Instance != j.Instance() || i > 0 && e.Seq <= replay.Entries[i-1].Seq {
				t.Fatalf("replayed %+v", replay.Entries)
			}
		}
		e := mustAppend(t, j, "api", "after")
		page, err := j.Read(j.Cursor(e.Seq-1), 0)
		if err != nil || page.Reset || len(page.Entries) != 1 || page.Entries[0].State != "after" {
			t.Fatalf("Read: %+v, %v", page, err)
		}
		if _, err := j.Read("", 0); err != nil {
			t.Fatalf("Read from the beginning: %v", err)
		}
	})
}
