package journal

import (
	"io"
	"io/fs"
	"maps"
	"slices"
	"sync"
)

// memory is a storage in memory.
type memory struct {
	mu    sync.Mutex
	files map[string]*memoryFile
}

func newMemory() *memory { return &memory{files: map[string]*memoryFile{}} }

func (m *memory) list() ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Keys(m.files)), nil
}

func (m *memory) read(name string) (reader, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f, ok := m.files[name]; ok {
		return f, nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

func (m *memory) open(name string) (file, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.files[name] == nil {
		m.files[name] = &memoryFile{}
	}
	return m.files[name], nil
}

func (m *memory) replace(name string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[name] = &memoryFile{data: slices.Clone(data)}
	return nil
}

func (m *memory) remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.files, name)
	return nil
}

type memoryFile struct {
	mu   sync.Mutex
	data []byte
}

func (f *memoryFile) ReadAt(p []byte, at int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if at >= int64(len(f.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.data[at:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memoryFile) WriteAt(p []byte, at int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if need := at + int64(len(p)) - int64(len(f.data)); need > 0 {
		f.data = append(f.data, make([]byte, need)...)
	}
	return copy(f.data[at:], p), nil
}

func (f *memoryFile) Truncate(size int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.data = f.data[:min(size, int64(len(f.data)))]
	return nil
}

func (f *memoryFile) Sync() error  { return nil }
func (f *memoryFile) Close() error { return nil }
