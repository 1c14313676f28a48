package logs

import "sync"

// Set shares the log of a path among all who write there, as stdout and stderr
// of a program often do. Two files at one path would rotate each other away.
// The zero value is ready for use.
type Set struct {
	mu    sync.Mutex
	files map[string]*shared
}

type shared struct {
	file  *File
	users int
}

// File gives the log at a path. The options of its first user count.
func (s *Set) File(path string, o Options) *File {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files == nil {
		s.files = map[string]*shared{}
	}
	if s.files[path] == nil {
		s.files[path] = &shared{file: New(path, o)}
	}
	s.files[path].users++
	return s.files[path].file
}

// Release gives a log back, which is closed with its last user.
func (s *Set) Release(f *File) error {
	s.mu.Lock()
	defer s.mu.Unlock()
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
