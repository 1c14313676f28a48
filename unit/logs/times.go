package logs

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"sort"
	"syscall"
	"time"

	"github.com/toskose/toskose/unit/safepath"
)

// A log file has no times in it: its bytes are those of the process. The times of writing are in an
// index beside it, PATH.times. The index also identifies the file it belongs to, so that cursors
// remain valid when the unit restarts. It consists of a header and marks, each an offset and the
// time at which the data after it was written.
const (
	timesSuffix = ".times"
	timesMagic  = "toskTIM1"
	headBytes   = 48 // magic, life, 4 unused bytes, gen, base, inode
	markBytes   = 16 // offset, nanoseconds since 1970

	// Minimum distance of two marks. If short lines fill the index, it is thinned by doubling the
	// distance.
	markEvery  = 10 * time.Millisecond
	timesFree  = 64 << 10 // an index may always have this size,
	timesShare = 4        // or this share of its log,
	timesMost  = 1 << 20  // up to this maximum

	thinnedSuffix = ".thinned" // of an index that replaces another
)

// mark records that the data after an offset was written at a time.
type mark struct{ offset, at int64 }

// times is the index of a log as it is written, and the times of its last bytes.
type times struct {
	adopted   bool    // files of an earlier run were looked for
	length    int64   // size of the current index; 0: not begun
	marked    mark    // the last mark in it
	minGap    int64   // minimum distance of marks in nanoseconds, if larger than markEvery
	lastWrite mark    // the last write, which may have no mark
	base      int64   // total size of all files before the current one
	bases     []int64 // the base of earlier files, newest last
}

// pastMost is the number of earlier files whose base is remembered.
const pastMost = 1024

// nextFile begins the index of the next file; ended is the size of the previous one, -1: unknown.
// The caller holds the File's lock.
func (t *times) nextFile(ended int64) {
	t.bases = append(t.bases, t.base)
	if len(t.bases) > pastMost {
		t.bases = t.bases[1:]
	}
	if t.base += max(ended, 0); ended < 0 {
		t.bases = nil
	}
	t.length, t.marked = 0, mark{}
	t.lastWrite.offset = 0
}

// mark records the time of the data after an offset of the current file. The caller holds the lock.
func (f *File) mark(offset int64) {
	if f.o.Now == nil {
		return
	}
	f.lastWrite = mark{offset, max(f.o.Now().UnixNano(), f.lastWrite.at)}
	if f.length > 0 && !f.needsMark() {
		return
	}
	if f.writeIndex(f.lastWrite) {
		f.marked = f.lastWrite
	}
}

// needsMark reports whether the last write is far enough from the last mark and the index has room,
// thinning the index if necessary. A third of the room is reserved for the index that replaces it.
func (f *File) needsMark() bool {
	third := max(timesFree, min(f.size/timesShare, timesMost)) / 3
	if f.length <= third/2 {
		f.minGap = 0 // there is much room, since the file is new or has grown
	}
	if !f.isApart() {
		return false
	}
	if f.length+markBytes <= 2*third {
		return true
	}
	f.minGap = 2 * max(f.minGap, int64(markEvery)) // even if that fails: it is retried later
	return f.thin(int(third-headBytes)/markBytes) && f.isApart()
}

func (f *File) isApart() bool { return f.lastWrite.at-f.marked.at >= max(f.minGap, int64(markEvery)) }

// thin reduces the index to at most a number of marks.
func (f *File) thin(most int) bool {
	x, ok := openIndex(f.path)
	if !ok {
		return false
	}
	defer x.Close()
	text, last := x.thinned(f.minGap, most)
	for ; text == nil && f.minGap > 0; text, last = x.thinned(f.minGap, most) {
		f.minGap *= 2
	}
	thinned := f.path + timesSuffix + thinnedSuffix
	if text == nil || x.broken || replaceFile(thinned, text) != nil || safepath.Rename(thinned, f.path+timesSuffix) != nil {
		_ = safepath.Remove(thinned)
		return false
	}
	f.length, f.marked = int64(len(text)), last
	return true
}

// replaceFile replaces a file.
func replaceFile(path string, text []byte) error {
	file, err := safepath.Create(path, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

// beginIndex begins the index of an empty file. The caller holds the lock.
func (f *File) beginIndex() {
	if f.o.Now != nil && f.out != nil && !f.notRegular {
		f.writeIndex()
	}
}

// writeIndex appends marks to the index. If that fails, times are less exact; a full disk is
// reported by the log itself.
func (f *File) writeIndex(marks ...mark) bool {
	flags, text := os.O_WRONLY|os.O_CREATE, make([]byte, 0, headBytes+markBytes)
	if f.length == 0 {
		info, err := f.out.Stat()
		if err != nil {
			return false
		}
		flags |= os.O_TRUNC
		text = append(text, timesMagic...)
		text = append(text, f.life...)
		text = append(text, 0, 0, 0, 0)
		for _, n := range []uint64{f.gen, uint64(f.base), inode(info)} {
			text = binary.LittleEndian.AppendUint64(text, n)
		}
	}
	for _, m := range marks {
		text = binary.LittleEndian.AppendUint64(text, uint64(m.offset))
		text = binary.LittleEndian.AppendUint64(text, uint64(m.at))
	}
	// It is not kept open: each log would need another descriptor.
	file, err := safepath.OpenFile(f.path+timesSuffix, flags, 0o644)
	if err != nil {
		return false
	}
	defer file.Close()
	if _, err = file.WriteAt(text, f.length); err == nil {
		f.length += int64(len(text))
	}
	return err == nil
}

// moveIndex follows a renamed file and removes the index of another file from its new name. The
// caller holds the lock.
func (f *File) moveIndex(from, to string) {
	if f.o.Now != nil && safepath.Rename(from+timesSuffix, to+timesSuffix) != nil {
		_ = safepath.Remove(to + timesSuffix)
	}
}

func inode(info os.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ino
	}
	return 0
}

// adopt continues the log of an earlier run, so that its cursors remain valid. It requires that the
// index belongs to the file at the path and that no other process has written the file since. The
// caller holds the lock.
func (f *File) adopt() {
	if f.adopted || f.o.Now == nil || f.std != nil {
		return
	}
	f.adopted = true
	_ = safepath.Remove(f.path + timesSuffix + thinnedSuffix) // left by a unit that was killed
	x, ok := openIndex(f.path)
	if !ok {
		return
	}
	defer x.Close()
	info, err := safepath.Stat(f.path)
	if err != nil || inode(info) != x.inode {
		return
	}
	var last mark
	if x.marks > 0 {
		last = x.mark(x.marks - 1)
	}
	if last.offset > info.Size() {
		return
	}
	f.life, f.gen, f.base = x.life, x.gen, x.base
	f.length, f.marked, f.lastWrite = headBytes+int64(x.marks)*markBytes, last, last
	for f.kept < f.o.Backups && f.adoptBackup(f.kept+1) {
		f.kept++
	}
	f.cut = f.gen - uint64(f.kept)
}

// adoptBackup adds the next older file to the kept ones.
func (f *File) adoptBackup(i int) bool {
	x, ok := openIndex(f.backup(i))
	if !ok {
		return false
	}
	defer x.Close()
	info, err := safepath.Stat(f.backup(i))
	if err != nil || inode(info) != x.inode || x.life != f.life || x.gen != f.gen-uint64(i) {
		return false
	}
	f.sizes, f.bases = append([]int64{info.Size()}, f.sizes...), append([]int64{x.base}, f.bases...)
	return true
}

// position returns the number of bytes of the log before a position; -1: unknown. The caller holds
// the lock.
func (f *File) position(c cursor) int64 {
	back := int(f.gen - c.gen)
	switch {
	case c.life != f.life || c.gen > f.gen || back > len(f.bases):
		return -1
	case back == 0:
		return f.base + c.offset
	}
	return f.bases[len(f.bases)-back] + c.offset
}

// index is an index opened for reading.
type index struct {
	*os.File
	life       string
	gen, inode uint64
	base       int64
	marks      int
	broken     bool // it could not be read
}

// openIndex opens the index of a log file; false if there is none.
func openIndex(path string) (*index, bool) {
	file, err := safepath.Open(path + timesSuffix)
	if err != nil {
		return nil, false
	}
	head := make([]byte, headBytes)
	info, err := file.Stat()
	if err == nil {
		_, err = io.ReadFull(file, head)
	}
	if err != nil || string(head[:len(timesMagic)]) != timesMagic {
		file.Close()
		return nil, false
	}
	rest := head[len(timesMagic)+lifeLength+4:]
	return &index{
		File: file, life: string(head[len(timesMagic):][:lifeLength]),
		gen: binary.LittleEndian.Uint64(rest), base: int64(binary.LittleEndian.Uint64(rest[8:])), inode: binary.LittleEndian.Uint64(rest[16:]),
		marks: int((info.Size() - headBytes) / markBytes),
	}, true
}

// mark returns a mark by its number.
func (x *index) mark(i int) mark {
	var text [markBytes]byte
	if _, err := x.ReadAt(text[:], headBytes+int64(i)*markBytes); err != nil {
		x.broken = true
		return mark{}
	}
	return markOf(text[:])
}

func markOf(text []byte) mark {
	return mark{int64(binary.LittleEndian.Uint64(text)), int64(binary.LittleEndian.Uint64(text[8:]))}
}

// between returns the marks for a part of the file: the last one at or before its beginning, and
// those within.
func (x *index) between(from, to int64) []mark {
	first := sort.Search(x.marks, func(i int) bool { return x.mark(i).offset > from })
	var found []mark
	for i := max(first-1, 0); i < x.marks; i++ {
		m := x.mark(i)
		if m.offset >= to {
			break
		}
		found = append(found, m)
	}
	if x.broken {
		return nil
	}
	return found
}

// thinned returns the index with marks at least apart nanoseconds apart, and its last mark; nil if
// there would be more than most.
func (x *index) thinned(apart int64, most int) (text []byte, last mark) {
	in := bufio.NewReader(io.NewSectionReader(x, 0, headBytes+int64(x.marks)*markBytes))
	text = make([]byte, headBytes, headBytes+most*markBytes)
	_, err := io.ReadFull(in, text)
	for i := 0; i < x.marks && err == nil; i++ {
		var one [markBytes]byte
		_, err = io.ReadFull(in, one[:])
		m := markOf(one[:])
		if i > 0 && m.at-last.at < apart {
			continue
		}
		if len(text) == cap(text) {
			return nil, mark{}
		}
		text, last = append(text, one[:]...), m
	}
	x.broken = x.broken || err != nil
	return text, last
}

// before returns the last mark before a time, or the zero value.
func (x *index) before(nano int64) mark {
	i := sort.Search(x.marks, func(i int) bool { return x.mark(i).at >= nano })
	if i == 0 || x.broken {
		return mark{}
	}
	return x.mark(i - 1)
}
