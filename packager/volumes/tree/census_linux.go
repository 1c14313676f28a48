package tree

import (
	"fmt"
	"hash/maphash"
	"io/fs"
	"os"
	"path"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// census counts the entries of a folder independently of the walk that writes a stream, in order to verify that walk. Two
// equal censuses mean that nothing changed between them.
type census struct {
	Size
	seed   maphash.Seed
	device uint64
	linked map[uint64]bool // inodes of files with several links whose bytes are counted
	digest uint64          // of the metadata of all entries
	keys   []uint64        // of all entries, sorted
	copied []bool          // by index in keys: the entry was written, left out, or removed meanwhile
	walked map[uint64]bool // folders whose entries the walk has read

	before *census // the census before the walk; nil: this is it
	missed int     // number of entries in both censuses that the walk did not copy
	first  string  // one of them
}

// identity identifies one version of an entry at a path. A file that replaces another may reuse its inode, but has a different
// change time.
type identity struct {
	path    string
	inode   uint64
	changed syscall.Timespec
}

// folder identifies a folder at a path.
type folder struct {
	path  string
	inode uint64
}

// version contains the metadata that changes when an entry changes.
type version struct {
	identity
	mode    uint32
	links   uint64
	size    int64
	written syscall.Timespec
}

// count takes a census. before is nil before a walk, and the census from before the walk after it. An unreadable folder counts
// as one entry.
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

// count counts an entry and all entries below it. It ignores entries that are removed or replaced meanwhile. read says that the walk has
// read the folder that contains the entry.
func (c *census) count(root *os.Root, name string, read bool) error {
	info, err := root.Lstat(name)
	if replaced(err) && name != "." {
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
		return nil // the folder is unreadable or no longer a folder
	}
	if err != nil {
		return err
	}
	names, err := f.Readdirnames(-1)
	if failed := f.Close(); err == nil {
		err = failed
	}
	if err != nil && !replaced(err) {
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
	v := version{identity: id, mode: s.Mode, links: uint64(s.Nlink), written: s.Mtim} //nolint:unconvert // 32 bits on some architectures
	if !info.IsDir() {
		v.size = s.Size
	}
	c.digest += maphash.Comparable(c.seed, v) // a sum, because the order of a folder's entries may differ
	key := maphash.Comparable(c.seed, id)
	c.keys = append(c.keys, key)
	if c.before != nil && read && c.before.lacks(key) {
		c.missed, c.first = c.missed+1, name
	}
}

// mark records that the walk has handled an entry.
func (c *census) mark(path string, s unix.Stat_t) {
	key := maphash.Comparable(c.seed, identity{path, s.Ino, syscall.Timespec(s.Ctim)})
	if i, ok := slices.BinarySearch(c.keys, key); ok {
		c.copied[i] = true
	}
}

// lacks reports whether the walk missed an unchanged entry.
func (c *census) lacks(key uint64) bool {
	i, ok := slices.BinarySearch(c.keys, key)
	return ok && !c.copied[i]
}

// markWalked records that the walk has read the entries of a folder.
func (c *census) markWalked(path string, inode uint64) {
	c.walked[maphash.Comparable(c.seed, folder{path, inode})] = true
}

func (c *census) hasWalked(path string, inode uint64) bool {
	return c.walked[maphash.Comparable(c.seed, folder{path, inode})]
}
