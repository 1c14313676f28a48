package image

import (
	"fmt"
	"os"
	"sync"
)

// temp is a folder for temporary files, which is made when the first is.
type temp struct {
	in string // empty: the system's

	mu  sync.Mutex
	dir string
}

// file makes a file.
func (t *temp) file(pattern string) (*os.File, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dir == "" {
		dir, err := os.MkdirTemp(t.in, "toskose-")
		if err != nil {
			return nil, fmt.Errorf("cannot make a folder for temporary files: %w", err)
		}
		t.dir = dir
	}
	return os.CreateTemp(t.dir, pattern)
}

// remove removes the folder and all that is in it, when nobody makes files any more.
func (t *temp) remove() {
	if t.dir != "" {
		_ = os.RemoveAll(t.dir) // what stays is the system's to remove
	}
}
