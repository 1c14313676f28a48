package logs

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/toskose/toskose/unit/safepath"
)

const (
	followFrom = 1024     // distance from the end at which following starts
	followRead = 32 << 10 // maximum size of one read
)

// truncated is returned by a follower instead of lost bytes, or when the file has shrunk.
var truncated = []byte("==> File truncated <==\n")

// Follower reads a log as it grows, across rotations: it reads a renamed file completely, and skips
// no file that is kept. It is not safe for concurrent use.
type Follower struct {
	log  *File
	file *os.File // of gen; nil if it could not be opened yet
	gen  uint64
	at   int64
	buf  []byte
}

// Follow starts 1,024 bytes before the end. A missing file is the fault NO_FILE.
func (f *File) Follow() (*Follower, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	file, size, err := f.openToRead()
	if err != nil {
		return nil, err
	}
	return &Follower{log: f, file: file, gen: f.gen, at: max(size-followFrom, 0)}, nil
}

// Close releases the file.
func (w *Follower) Close() error {
	if w.file == nil {
		return nil
	}
	return w.file.Close()
}

// Next blocks until there are more bytes, which are valid until the next call. It returns io.EOF at
// the end of a closed log, or the error of ctx.
func (w *Follower) Next(ctx context.Context) ([]byte, error) {
	for {
		w.log.mu.Lock()
		gen, cut, closed, change := w.log.gen, w.log.cut, w.log.closed, w.log.waiter()
		w.log.mu.Unlock()
		if cut > w.gen {
			w.advance()
			return truncated, nil
		}
		// What is in the file now was written before the next change.
		data, err := w.read()
		if len(data) > 0 || err != nil {
			return data, err
		}
		if w.wasCut() {
			continue
		}
		if gen != w.gen {
			if w.advance() {
				return truncated, nil
			}
			continue
		}
		if closed {
			return nil, io.EOF
		}
		select {
		case <-change:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// read returns the next bytes, if any.
func (w *Follower) read() ([]byte, error) {
	if w.file == nil {
		w.reopen()
		if w.file == nil {
			return nil, nil
		}
	}
	if info, err := w.file.Stat(); err == nil && info.Size() < w.at {
		if w.wasCut() {
			return nil, nil
		}
		w.at = 0 // truncated by another process
		return truncated, nil
	}
	if w.buf == nil {
		w.buf = make([]byte, followRead)
	}
	n, err := w.file.ReadAt(w.buf, w.at)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if w.wasCut() {
		return nil, nil // these bytes may have been written after the truncation
	}
	w.at += int64(n)
	return w.buf[:n], nil
}

func (w *Follower) wasCut() bool {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	return w.log.cut > w.gen
}

// reopen opens the current file if that failed before.
func (w *Follower) reopen() {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	if w.gen == w.log.gen {
		w.file, _ = safepath.Open(w.log.path)
	}
}

// advance continues with the next file and reports whether data between the files is lost.
func (w *Follower) advance() (gap bool) {
	f := w.log
	f.mu.Lock()
	defer f.mu.Unlock()
	if w.gen < f.cut {
		// The file was truncated during the read, and may have been renamed since.
		gap, w.gen = true, f.cut
	} else {
		w.gen++
	}
	if oldest := f.gen - uint64(f.kept); w.gen < oldest {
		gap, w.gen = w.gen != oldest, oldest
	}
	path := f.path
	if w.gen < f.gen {
		path = f.backup(int(f.gen - w.gen))
	}
	w.Close()
	w.at = 0
	w.file, _ = safepath.Open(path) // if it no longer exists, that is a gap too
	return gap || (w.file == nil && w.gen < f.gen)
}
