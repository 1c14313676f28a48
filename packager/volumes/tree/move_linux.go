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

// moveAll moves data between the volume and a folder of the restore's: into the volume, or
// out of it. phase names an entry that a crash leaves in place. Where both have an entry of
// the same name, another program has made the volume's meanwhile: it is moved away.
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

// move renames an entry. What has its name at the destination, in the volume, is moved away;
// in the restore's folder, the restore's own stays, and the volume's is moved away.
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

// evict moves an entry to where the restore deletes it at its end.
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
	_, _ = rand.Read(b) // it never fails
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

// remove removes an entry of the restore's folder, and all that is below it on the same file
// system. It is no error if there is none.
func (r *restorer) remove(in *os.File, name string) error {
	err := r.removeAt(in, name, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// removeDisplaced removes the folder of what was moved away, into which removing folders of
// great depth moves more.
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

// deepest is how many folders remove keeps open: it moves deeper ones up, for removeDisplaced.
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

// openToEmpty opens a folder, which its owner may have made unreadable.
func (r *restorer) openToEmpty(in *os.File, name string) (*os.File, error) {
	dir, err := openFolder(in, name)
	if errors.Is(err, unix.EACCES) {
		if err := unix.Fchmodat(int(in.Fd()), name, 0o700, 0); err != nil { // nobody else can exchange it: only this process reaches it
			return nil, err
		}
		return openFolder(in, name)
	}
	return dir, err
}

// volumeTimes returns the times of the volume's own folder.
func (r *restorer) volumeTimes() ([]unix.Timespec, error) {
	s, err := statOpen(r.volume)
	return []unix.Timespec{s.Atim, s.Mtim}, err
}

func (r *restorer) setVolumeTimes(times []unix.Timespec) error {
	err := unix.UtimesNanoAt(unix.AT_FDCWD, inProc(r.volume, ""), times, 0)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return nil // it is the file system's, where the users of the volume are not root
	}
	return err
}
