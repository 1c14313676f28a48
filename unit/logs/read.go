package logs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/toskose/toskose/unit/safepath"
	"github.com/toskose/toskose/unit/wire"
)

// MaxRead is the maximum size of one read: a log without a limit must not fill the unit's memory.
const MaxRead = 8 << 20

// Read returns length bytes from an offset, or with a length of 0 everything from there to the end;
// a negative offset with a length of 0 returns that many bytes from the end. Other arguments are
// the fault BAD_ARGUMENTS, and a missing log is NO_FILE. It returns at most MaxRead bytes.
func (f *File) Read(offset, length int64) ([]byte, error) {
	file, size, err := f.openToRead()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	switch {
	case length < 0, offset < 0 && length != 0:
		return nil, wire.NewFault(wire.BadArguments, "")
	case offset < 0:
		// -offset overflows for the smallest int64.
		length = min(size, MaxRead)
		if offset > -length {
			length = -offset
		}
		offset = size - length
	case length == 0:
		length = MaxRead
	}
	length = min(length, MaxRead, max(size-offset, 0))
	return readAt(file, offset, length)
}

// Tail serves polling clients. It returns length bytes from offset, or, if the log has grown beyond
// those, its last length bytes and true; and the size of the log, which is the next offset. If
// fewer than length bytes follow offset, the bytes before it are included, as in Supervisor. There
// are no errors: a log that does not exist or cannot be read is empty.
func (f *File) Tail(offset, length int64) (data []byte, next int64, overflow bool) {
	file, size, err := f.openToRead()
	if code, ok := wire.FaultCodeOf(err); ok && code == wire.NoFile {
		return nil, 0, false
	}
	if err != nil {
		return nil, offset, false
	}
	defer file.Close()
	// No real offset is beyond this, and sums must not overflow.
	const limit = 1 << 61
	offset, length = max(min(offset, limit), -limit), max(min(length, limit), -limit)
	if size > offset+length {
		overflow = true
		offset = size - 1
	}
	if offset+length > size {
		if offset > size-1 {
			length = 0
		}
		offset = size - length
	}
	offset = max(offset, 0)
	length = min(max(length, 0), max(size-offset, 0))
	if length > MaxRead {
		offset, length = offset+length-MaxRead, MaxRead
	}
	if data, err = readAt(file, offset, length); err != nil {
		return nil, size, false
	}
	return data, size, overflow
}

// openToRead opens the file by its path, since an earlier run of the unit may have written it.
func (f *File) openToRead() (*os.File, int64, error) {
	if f.std != nil {
		return nil, 0, wire.NewFault(wire.NoFile, f.path)
	}
	file, err := safepath.OpenFile(f.path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a named pipe would block
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, wire.NewFault(wire.NoFile, f.path)
	}
	if err != nil {
		return nil, 0, wire.NewFault(wire.Failed, f.path)
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		file.Close()
		return nil, 0, wire.NewFault(wire.Failed, f.path)
	}
	return file, info.Size(), nil
}

func readAt(file *os.File, offset, length int64) ([]byte, error) {
	data := make([]byte, length)
	n, err := file.ReadAt(data, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, wire.NewFault(wire.Failed, file.Name())
	}
	return data[:n], nil
}
