package logs

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/toskose/toskose/unit/safepath"
)

const (
	followFrom = 1024     // how many bytes before the end following starts
	followRead = 32 << 10 // how much is read at once at most
)

// truncated is what a follower reads in place of bytes that are gone before it
// read them, or when the file has shrunk.
var truncated = []byte("==> File truncated <==\n")

// Follower reads a log as it grows, across rotations: a renamed file is read to its
// end first, and no file in between is skipped as long as it is kept. It is not
// safe for concurrent use.
type Follower struct {
	log  *File
	file *os.File // of gen; nil: it could not be opened yet
	gen  uint64
	at   int64
	buf  []byte
}

// Follow starts 1,024 bytes before the end. If there is no file, the error is the
// fault NO_FILE.
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

// Next waits for the next bytes, which are valid until the next call. The error is
// io.EOF at the end of a closed log, or ctx's.
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
		w.at = 0 // truncated by somebody else
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
		return nil, nil // these bytes may have been written after the cut
	}
	w.at += int64(n)
	return w.buf[:n], nil
}

func (w *Follower) wasCut() bool {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	return w.log.cut > w.gen
}

// reopen opens the current file if it could not be opened before.
func (w *Follower) reopen() {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	if w.gen == w.log.gen {
		w.file, _ = safepath.Open(w.log.path)
	}
}

// advance continues with the file after the one that was read to its end, and
// reports whether something in between is gone.
func (w *Follower) advance() (gap bool) {
	f := w.log
	f.mu.Lock()
	defer f.mu.Unlock()
	if w.gen < f.cut {
		// The file was truncated while we read it, and may have been renamed since.
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
	w.file, _ = safepath.Open(path) // if it is gone by now, that is a gap, too
	return gap || (w.file == nil && w.gen < f.gen)
}
