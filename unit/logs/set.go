package logs

import "sync"

// Set shares one File per path among its writers, since stdout and stderr of a program often have
// the same path and two Files would rotate each other's file. The container's own output is not
// shared: each of its writers has its own spool. The zero value is ready for use.
type Set struct {
	mu    sync.Mutex
	files map[string]*member
}

// member is a File of a Set and the number of its users.
type member struct {
	file  *File
	users int
}

// File returns the log at a path. The options of its first user apply.
func (s *Set) File(path string, o Options) *File {
	s.mu.Lock()
	defer s.mu.Unlock()
	if outletOf(path) != nil {
		return New(path, o)
	}
	if s.files == nil {
		s.files = map[string]*member{}
	}
	if s.files[path] == nil {
		s.files[path] = &member{file: New(path, o)}
	}
	s.files[path].users++
	return s.files[path].file
}

// Release gives up one use of a log. The last one closes it.
func (s *Set) Release(f *File) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.std != nil {
		return f.Close()
	}
	known, ok := s.files[f.path]
	if !ok || known.file != f {
		return nil
	}
	if known.users--; known.users > 0 {
		return nil
	}
	delete(s.files, f.path)
	return f.Close()
}
