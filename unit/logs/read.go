package logs

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/toskose/toskose/unit/wire"
)

// MaxRead is the most that one read answers, in bytes: a log without a limit
// must not be able to fill the unit's memory.
const MaxRead = 8 << 20

// Read gives length bytes from an offset, or with a length of 0 all from there
// to the end; a negative offset with a length of 0 gives as many bytes from the
// end. Anything else is the fault BAD_ARGUMENTS, and a log that is not there
// NO_FILE. No answer is longer than MaxRead.
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
		// -offset overflows for the least number there is.
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

// Tail gives what a client that follows by asking needs: length bytes from
// offset, or, where the log has grown beyond those, its last length bytes and
// true; and its size, from where to ask again. Where less than length bytes
// follow offset, the bytes before it fill the answer up, as in Supervisor.
// There are no errors: a log that is not there or cannot be read is empty.
func (f *File) Tail(offset, length int64) (data []byte, next int64, overflow bool) {
	file, size, err := f.openToRead()
	if code, ok := wire.FaultCodeOf(err); ok && code == wire.NoFile {
		return nil, 0, false
	}
	if err != nil {
		return nil, offset, false
	}
	defer file.Close()
	// Neither can be meant beyond this, and sums must not overflow.
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

// openToRead opens the file by its path, as it may have been written by an
// earlier run of the unit.
func (f *File) openToRead() (*os.File, int64, error) {
	if f.std != nil {
		return nil, 0, wire.NewFault(wire.NoFile, f.path)
	}
	file, err := os.Open(f.path)
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
