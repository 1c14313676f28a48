package tree

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// moveAll moves data from a folder of the restore into the volume if in is set, or out of the volume into that folder. phase
// names an entry that a crash leaves in place. If both have an entry with the same name, another program has created the
// volume's meanwhile, and that entry is moved away.
func (r *restorer) moveAll(volume *os.File, phase, folder string, in bool) error {
	if is, err := exists(r.state, phase); err != nil || !is {
		return errors.Join(err, fmt.Errorf("the folder of the restore has no %q", phase))
	}
	if err := r.mkdir(r.state, folder); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	other, err := openFolder(r.state, folder)
	if err != nil {
		return err
	}
	defer other.Close()
	from, to := volume, other
	if in {
		from, to = other, volume
	}
	names, err := namesIn(from)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !in {
			if keeps, err := r.keeps(name); err != nil {
				return err
			} else if keeps {
				continue
			}
		}
		if err := r.move(from, to, name, in); err != nil {
			return fmt.Errorf("cannot move %q: %w", name, err)
		}
	}
	return r.sync(volume)
}

// move renames an entry. If the destination has an entry with that name, the volume's entry is moved away and the restore's is
// kept.
func (r *restorer) move(from, to *os.File, name string, in bool) error {
	taken, err := exists(to, name)
	if err != nil {
		return err
	}
	if taken && in {
		err = r.evict(to, name)
	} else if taken {
		return r.evict(from, name)
	}
	if err != nil {
		return err
	}
	return r.rename(from, name, to, name)
}

// evict moves an entry to the folder that the restore deletes at its end.
func (r *restorer) evict(from *os.File, name string) error {
	if err := r.mkdir(r.state, displaced); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	dir, err := openFolder(r.state, displaced)
	if err != nil {
		return err
	}
	defer dir.Close()
	return r.rename(from, name, dir, randomName())
}

func randomName() string {
	b := make([]byte, 10)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

func (r *restorer) rename(from *os.File, name string, to *os.File, as string) error {
	if err := r.step(); err != nil {
		return err
	}
	if err := unix.Renameat(int(from.Fd()), name, int(to.Fd()), as); err != nil {
		return &fs.PathError{Op: "rename", Path: name, Err: err}
	}
	return nil
}

func (r *restorer) mkdir(in *os.File, name string) error {
	if err := r.step(); err != nil {
		return err
	}
	if err := unix.Mkdirat(int(in.Fd()), name, 0o700); err != nil {
		return &fs.PathError{Op: "mkdir", Path: name, Err: err}
	}
	return nil
}

func (r *restorer) rmdir(in *os.File, name string) error {
	if err := r.step(); err != nil {
		return err
	}
	if err := unix.Unlinkat(int(in.Fd()), name, unix.AT_REMOVEDIR); err != nil {
		return &fs.PathError{Op: "rmdir", Path: name, Err: err}
	}
	return nil
}

// remove removes an entry of the restore's folder, and all entries below it on the same file system. A missing entry is not an
// error.
func (r *restorer) remove(in *os.File, name string) error {
	err := r.removeAt(in, name, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// removeDisplaced removes the folder of displaced entries. Removing deeply nested folders adds more entries to it.
func (r *restorer) removeDisplaced() error {
	dir, err := openFolder(r.state, displaced)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	for {
		names, err := namesIn(dir)
		if err != nil {
			return err
		}
		if len(names) == 0 {
			return r.rmdir(r.state, displaced)
		}
		for _, name := range names {
			if err := r.remove(dir, name); err != nil {
				return err
			}
		}
	}
}

// deepest is the maximum number of folders that remove keeps open. It moves deeper ones to the displaced entries.
const deepest = 100

func (r *restorer) removeAt(in *os.File, name string, depth int) error {
	s, err := stat(in, name)
	if err != nil {
		return err
	}
	if s.Dev != r.top.Dev {
		return fmt.Errorf("cannot remove %q: another file system is mounted there", name)
	}
	if s.Mode&unix.S_IFMT != unix.S_IFDIR {
		if err := r.step(); err != nil {
			return err
		}
		return unix.Unlinkat(int(in.Fd()), name, 0)
	}
	if depth > deepest {
		return r.evict(in, name)
	}
	dir, err := r.openToEmpty(in, name)
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := namesIn(dir)
	if err != nil {
		return err
	}
	for _, base := range names {
		if err := r.removeAt(dir, base, depth+1); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return r.rmdir(in, name)
}

// openToEmpty opens a folder that its owner may have made unreadable.
func (r *restorer) openToEmpty(in *os.File, name string) (*os.File, error) {
	dir, err := openFolder(in, name)
	if errors.Is(err, unix.EACCES) {
		if err := unix.Fchmodat(int(in.Fd()), name, 0o700, 0); err != nil { // safe against replacement: only this process can access the entry
			return nil, err
		}
		return openFolder(in, name)
	}
	return dir, err
}

// volumeTimes returns the access and modification time of the volume's root folder.
func (r *restorer) volumeTimes() ([]unix.Timespec, error) {
	s, err := statOpen(r.volume)
	return []unix.Timespec{s.Atim, s.Mtim}, err
}

func (r *restorer) setVolumeTimes(times []unix.Timespec) error {
	err := unix.UtimesNanoAt(unix.AT_FDCWD, inProc(r.volume, ""), times, 0)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return nil // the file system's folder, if the users of the volume are not root
	}
	return err
}
