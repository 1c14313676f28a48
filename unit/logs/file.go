package logs

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/toskose/toskose/unit/safepath"
)

// errClosed is the error of a write to a closed log.
var errClosed = errors.New("the log is closed")

// Options configure the rotation of a log file.
type Options struct {
	MaxBytes int64 // the file rotates when a write reaches this size; 0: never
	Backups  int   // number of older files kept, as PATH.1 and so on; 0: the file is truncated instead

	// Now is the clock for an index of times beside the file; nil: no index.
	Now func() time.Time
}

// Stats count the bytes of a log since the unit started.
type Stats struct {
	Written uint64
	Dropped uint64 // not written
	Err     error  // of the last write; nil if it succeeded
}

// File is a rotating log file. It is opened by the first write, or by Open. /dev/stdout and
// /dev/stderr are the unit's own output, which neither rotates nor can be read. The same is true of
// named pipes and terminals, which have a spool too. A File is safe for concurrent use. Write never
// blocks for long, so it serves a slog.Handler as well as a Pump.
type File struct {
	path string
	o    Options

	mu         sync.Mutex
	out        *os.File // nil: not open
	notRegular bool     // out is not a regular file and does not rotate
	device     *Spool   // set if out is a pipe or terminal
	std        *Spool   // set if the log is the unit's own output
	size       int64    // of the open file
	gen        uint64   // number of times the path got another file or the file was truncated
	cut        uint64   // the last gen that began with a truncation, which discarded earlier data
	kept       int      // number of earlier gens kept as backups
	sizes      []int64  // their sizes, oldest first
	ended      int64    // size of the gen before the oldest one kept; -1: unknown
	life       string   // identifies this File: the gens of another one do not apply to it
	stats      Stats
	holes      []hole // the latest ones
	closed     bool
	change     chan struct{} // closed at the next change; nil without waiters
	times

	version uint64          // counts the changes
	mergers []chan struct{} // notified for readers of several logs
}

// New returns the log at a path without touching the file.
func New(path string, o Options) *File {
	f := &File{path: path, o: o, life: rand.Text()[:lifeLength], ended: -1}
	if to := outletOf(path); to != nil {
		f.std = &Spool{to: to}
	}
	return f
}

// spool returns the spool of the container's output, a pipe or a terminal; nil for a regular file.
func (f *File) spool() *Spool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.std != nil {
		return f.std
	}
	return f.device
}

// full returns the full channel of its spool.
func (f *File) full() <-chan struct{} { return f.spool().full() }

// Path returns the configured path.
func (f *File) Path() string { return f.path }

// Stats returns the byte counters.
func (f *File) Stats() Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stats
}

// Limit changes the rotation options, effective with the next write.
func (f *File) Limit(o Options) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o.Now = f.o.Now
	f.o = o
}

// Open creates the file and its folder if they do not exist. If it fails, every write retries.
func (f *File) Open() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return errClosed
	}
	return f.open(os.O_APPEND)
}

// open opens the file. how is O_APPEND to continue at its end, or O_TRUNC. The caller holds the
// lock.
func (f *File) open(how int) error {
	if f.out != nil || f.std != nil {
		return nil
	}
	f.adopt()
	flags := flagsOf(f.path, how)
	out, err := safepath.OpenFile(f.path, flags, 0o644)
	if errors.Is(err, fs.ErrNotExist) {
		if err = safepath.MkdirAll(filepath.Dir(f.path), 0o755); err == nil {
			out, err = safepath.OpenFile(f.path, flags, 0o644)
		}
	}
	if err != nil {
		return err
	}
	info, err := out.Stat()
	if err != nil {
		out.Close()
		return err
	}
	f.out, f.size, f.notRegular, f.device = out, info.Size(), !info.Mode().IsRegular(), nil
	if to := openDevice(out, info); to != nil {
		f.device = &Spool{to: to}
	}
	return nil
}

// Write appends p and rotates the file when it has reached its limit. Data that cannot be written
// is dropped and counted, and the error says why.
func (f *File) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return 0, errClosed
	}
	n, err := f.write(p)
	f.stats.Written += uint64(n)
	f.stats.Dropped += uint64(len(p) - n)
	f.stats.Err = err
	if n < len(p) {
		f.recordHole(int64(len(p) - n))
	}
	if n > 0 {
		f.notifyFollowers()
	}
	return n, err
}

func (f *File) write(p []byte) (int, error) {
	if f.device != nil && f.device.to.failed() {
		f.closeFile()
	}
	if err := f.open(os.O_APPEND); err != nil {
		return 0, err
	}
	for _, s := range []*Spool{f.std, f.device} {
		if s == nil {
			continue
		}
		if !s.to.enqueue(part{spool: s, at: time.Now()}, p) {
			return 0, errStalled
		}
		return len(p), nil
	}
	if f.notRegular {
		return f.out.Write(p)
	}
	n, err := f.out.Write(p)
	if f.size += int64(n); n > 0 {
		f.mark(f.size - int64(n))
	}
	if err == nil && f.o.MaxBytes > 0 && f.size >= f.o.MaxBytes {
		// All of p is written. If the next file cannot be opened, the next write reports it.
		f.rotate()
	}
	return n, err
}

// closeFile closes the open file.
func (f *File) closeFile() {
	if f.device != nil {
		f.device.to.closeWhenEmpty()
	} else if f.out != nil {
		f.out.Close()
	}
	f.out, f.device = nil, nil
}

// rotate renames PATH to PATH.1, that to PATH.2, and so on, or truncates the file if no backups are
// kept.
func (f *File) rotate() {
	if f.o.Backups == 0 {
		f.truncate()
		return
	}
	last := 1
	for last < f.o.Backups && exists(f.backup(last)) {
		last++
	}
	for i := last - 1; i > 0; i-- {
		_ = safepath.Rename(f.backup(i), f.backup(i+1)) // if it fails, PATH.1 is overwritten
		f.moveIndex(f.backup(i), f.backup(i+1))
	}
	if err := safepath.Rename(f.path, f.backup(1)); err != nil {
		// The limit holds even if nothing can be renamed.
		f.truncate()
		return
	}
	f.moveIndex(f.path, f.backup(1))
	f.out.Close()
	f.gen++
	f.kept++
	f.nextFile(f.size)
	f.sizes = append(f.sizes, f.size)
	if f.kept > f.o.Backups {
		f.kept, f.ended, f.sizes = f.o.Backups, f.sizes[0], f.sizes[1:]
	}
	f.out, f.size = nil, 0
	_ = f.open(os.O_TRUNC) // the next write retries and reports the error
	f.beginIndex()
}

func exists(path string) bool {
	_, err := safepath.Lstat(path)
	return err == nil
}

func (f *File) truncate() {
	if f.out.Truncate(0) != nil {
		return // a device, such as /dev/full
	}
	f.begin(f.size)
	f.size = 0
	f.cut = f.gen
	f.beginIndex()
}

// begin begins a gen without backups; ended is the size of the previous one.
func (f *File) begin(ended int64) {
	f.gen++
	f.nextFile(ended)
	f.kept, f.sizes, f.ended = 0, nil, ended
}

func (f *File) backup(i int) string { return f.path + "." + strconv.Itoa(i) }

// Reopen closes the file and opens the path again, as needed after another process has renamed it.
func (f *File) Reopen() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return errClosed
	}
	return f.reopen()
}

func (f *File) reopen() error {
	if f.std != nil {
		return nil
	}
	var before os.FileInfo
	ended := int64(-1)
	if f.out != nil {
		ended = f.size
		before, _ = f.out.Stat()
		if now, err := safepath.Stat(f.path); f.device != nil && err == nil && os.SameFile(before, now) {
			return nil // queued data is written first
		}
		defer (&File{out: f.out, device: f.device}).closeFile() // later: the new file might get its inode
		f.out, f.device = nil, nil
	}
	err := f.open(os.O_APPEND)
	if err == nil && before != nil {
		if now, statErr := f.out.Stat(); statErr == nil && os.SameFile(before, now) {
			return nil
		}
	}
	// The backups may belong to another log now.
	f.begin(ended)
	f.notifyFollowers()
	return err
}

// Clear removes the file and begins a new one, as Supervisor does. Backups are kept.
func (f *File) Clear() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return errClosed
	}
	if f.std != nil {
		return nil
	}
	info, err := safepath.Stat(f.path)
	if err == nil && !info.Mode().IsRegular() {
		return nil // /dev/null is empty and must not be removed
	}
	err = safepath.Remove(f.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if f.o.Now != nil {
		_ = safepath.Remove(f.path + timesSuffix) // if it fails, it is overwritten
	}
	return f.reopen()
}

// Close closes the log and ends its followers. The file is kept.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.notifyFollowers()
	f.closeFile()
	return nil
}

// notifyFollowers wakes followers. The caller holds the lock.
func (f *File) notifyFollowers() {
	f.version++
	for _, bell := range f.mergers {
		select {
		case bell <- struct{}{}:
		default: // already notified
		}
	}
	if f.change != nil {
		close(f.change)
		f.change = nil
	}
}

// waiter returns a channel that is closed at the next change. The caller holds the lock.
func (f *File) waiter() <-chan struct{} {
	if f.change == nil {
		f.change = make(chan struct{})
	}
	return f.change
}
