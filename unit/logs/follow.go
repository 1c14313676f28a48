package logs

import (
	"context"
	"errors"
	"io"
	"os"
)

const (
	followFrom = 1024     // bytes before the end where following starts
	followRead = 32 << 10 // most that is read at once
)

// truncated is what a follower is told when bytes are gone that he has not
// seen, or when the file has shrunk.
var truncated = []byte("==> File truncated <==\n")

// Follower reads a log as it grows, through rotations: a file that was renamed
// is read to its end first, and of the files in between none is left out as
// long as it is kept. It is for one goroutine.
type Follower struct {
	log  *File
	file *os.File // nil: the one of gen could not be opened yet
	gen  uint64
	at   int64
	buf  []byte
}

// Follow starts 1,024 bytes before the end. A log that is not there is the
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

// Next waits for the next bytes, which are valid until it is called again. The
// error is io.EOF after the end of a log that was closed, or the context's.
func (w *Follower) Next(ctx context.Context) ([]byte, error) {
	for {
		w.log.mu.Lock()
		gen, cut, closed, change := w.log.gen, w.log.cut, w.log.closed, w.log.waiter()
		w.log.mu.Unlock()
		if cut > w.gen {
			w.advance()
			return truncated, nil
		}
		// What is in the file now was there before any change that comes.
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

// read gives what follows, or nothing.
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
		w.at = 0 // by somebody else
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
		return nil, nil // these bytes may be of after the cut
	}
	w.at += int64(n)
	return w.buf[:n], nil
}

func (w *Follower) wasCut() bool {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	return w.log.cut > w.gen
}

// reopen opens the current file, where it could not be opened before.
func (w *Follower) reopen() {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	if w.gen == w.log.gen {
		w.file, _ = os.Open(w.log.path)
	}
}

// advance goes on to the file that came after the one that was read to its
// end, and tells whether something in between is gone.
func (w *Follower) advance() (gap bool) {
	f := w.log
	f.mu.Lock()
	defer f.mu.Unlock()
	if w.gen < f.cut {
		// The file was cut under our eyes, and may have been renamed since.
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
	w.file, _ = os.Open(path) // a file that is gone meanwhile is a gap of its own kind: nothing to read
	return gap || (w.file == nil && w.gen < f.gen)
}
