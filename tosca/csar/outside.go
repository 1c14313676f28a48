package csar

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// outside has the definitions that a lone service template imports from beyond its
// folder: they are as much its own as those beside it. Number and size are bounded
// as in an archive, and no link is followed.
type outside struct {
	dir    string
	limits Limits
	mu     sync.Mutex
	files  int
	total  int64
}

// isOutside reports whether a name leads out of the folder, to what may be a
// definition.
func isOutside(name string) bool { return strings.HasPrefix(name, "../") && IsYAML(name) }

func (o *outside) open(name string) (fs.File, error) {
	full := filepath.Join(o.dir, filepath.FromSlash(name))
	info, err := os.Lstat(full)
	if err != nil {
		return nil, err
	}
	if err := (&dirTree{limits: o.limits}).checkFile(name, info); err != nil {
		return nil, err
	}
	o.mu.Lock()
	o.files++
	o.total += info.Size()
	files, total := o.files, o.total
	o.mu.Unlock()
	switch {
	case files > o.limits.Entries:
		return nil, problem(codeEntries, name, fmt.Sprintf("is one of more than %d files outside of the folder", o.limits.Entries))
	case total > o.limits.Total:
		return nil, problem(codeTotal, name, fmt.Sprintf("is one of the files outside of the folder, which hold more than %d bytes", o.limits.Total))
	}
	return os.Open(full)
}
