package tree

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"os"
	"path"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// census counts what is in a folder by its names alone, independently of the walk that
// writes a stream, which it checks. Two equal censuses mean that nothing changed
// between them.
type census struct {
	Size
	seed   maphash.Seed
	device uint64
	linked map[uint64]bool // files with several names whose bytes are counted
	digest uint64          // of all that is known of all entries
	keys   []uint64        // of all entries, sorted
	copied []bool          // by the index in keys: the entry was written, left out, or removed meanwhile
	walked map[uint64]bool // the folders whose entries the walk has read

	before *census // a census from before the walk; nil: this one is
	missed int     // how many entries both have that the walk did not copy
	first  string  // one of them
}

// identity is one entry under one path, until something changes it. A file that replaces
// another one may have its inode, and has another time of change.
type identity struct {
	path    string
	inode   uint64
	changed syscall.Timespec
}

// folder is a folder under one path.
type folder struct {
	path  string
	inode uint64
}

// version is what changes when an entry does.
type version struct {
	identity
	mode    uint32
	links   uint64
	size    int64
	written syscall.Timespec
}

// count takes a census: after a walk, with the one from before it, and else with nil. Folders
// that cannot be read count as one entry.
func count(dir string, seed maphash.Seed, before *census) (*census, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	top, err := root.Lstat(".")
	if err != nil {
		return nil, err
	}
	c := &census{seed: seed, device: top.Sys().(*syscall.Stat_t).Dev, linked: map[uint64]bool{}, walked: map[uint64]bool{}, before: before}
	if err := c.count(root, ".", true); err != nil {
		return nil, fmt.Errorf("cannot count what is in the volume: %w", err)
	}
	slices.Sort(c.keys)
	c.copied = make([]bool, len(c.keys))
	return c, nil
}

// count counts an entry and all that is below it. An entry that is removed meanwhile is none.
// read says that the walk has read the folder of the entry.
func (c *census) count(root *os.Root, name string, read bool) error {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) && name != "." {
		return nil
	}
	if err != nil {
		return err
	}
	s := info.Sys().(*syscall.Stat_t)
	c.add(name, info, s, read)
	if !info.IsDir() || s.Dev != c.device || len(name) > maxPath {
		return nil
	}
	f, err := root.Open(name)
	if err != nil && name != "." {
		return nil // it is not readable, or no longer a folder
	}
	if err != nil {
		return err
	}
	names, err := f.Readdirnames(-1)
	if failed := f.Close(); err == nil {
		err = failed
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, base := range names {
		if err := c.count(root, path.Join(name, base), c.before == nil || c.before.hasWalked(name, s.Ino)); err != nil {
			return err
		}
	}
	return nil
}

func (c *census) add(name string, info fs.FileInfo, s *syscall.Stat_t, read bool) {
	c.Entries++
	if info.Mode().IsRegular() && !c.linked[s.Ino] {
		c.Bytes += s.Size
		if s.Nlink > 1 {
			c.linked[s.Ino] = true
		}
	}
	id := identity{name, s.Ino, s.Ctim}
	v := version{identity: id, mode: s.Mode, links: uint64(s.Nlink), written: s.Mtim} //nolint:unconvert // it has 32 bits on some machines
	if !info.IsDir() {
		v.size = s.Size
	}
	c.digest += maphash.Comparable(c.seed, v) // the order of a folder's entries may differ
	key := maphash.Comparable(c.seed, id)
	c.keys = append(c.keys, key)
	if c.before != nil && read && c.before.lacks(key) {
		c.missed, c.first = c.missed+1, name
	}
}

// mark notes that the walk has dealt with an entry.
func (c *census) mark(path string, s unix.Stat_t) {
	key := maphash.Comparable(c.seed, identity{path, s.Ino, syscall.Timespec(s.Ctim)})
	if i, ok := slices.BinarySearch(c.keys, key); ok {
		c.copied[i] = true
	}
}

// lacks reports whether the walk has not dealt with an entry that has not changed.
func (c *census) lacks(key uint64) bool {
	i, ok := slices.BinarySearch(c.keys, key)
	return ok && !c.copied[i]
}

// markWalked notes that the walk has read the entries of a folder.
func (c *census) markWalked(path string, inode uint64) {
	c.walked[maphash.Comparable(c.seed, folder{path, inode})] = true
}

func (c *census) hasWalked(path string, inode uint64) bool {
	return c.walked[maphash.Comparable(c.seed, folder{path, inode})]
}
