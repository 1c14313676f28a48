package tree

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// A restore works in its own folder at the top of the volume, because it can only rename files into place within the volume.
// The name of the folder, and a proof in it, are derived from a token that the caller stores outside the volume. Programs that
// use the volume do not know the token, so they cannot forge such a folder.
const statePrefix = ".toskose-restore-"

// The entries of the folder. At any time one of the first four exists and identifies the phase of the restore.
const (
	phaseNew     = "new"     // being filled; the volume has its old data
	phaseReady   = "ready"   // complete; the old data is being moved into oldData
	phasePlacing = "placing" // being moved into the volume, which no longer has the old data
	phaseDone    = "done"    // empty: all data is in the volume

	oldData   = "old"     // the volume's old data
	displaced = "evicted" // files that other programs created during the restore under names that it needs
	topTraits = "top"     // traits for the volume's root folder
	proofLink = "proof"   // a symbolic link whose target is the proof
)

func stateName(token string) string {
	sum := sha256.Sum256([]byte("folder " + token))
	return statePrefix + hex.EncodeToString(sum[:10])
}

// proof binds the token to one folder. It uses the inode number, because a device number may change when the machine restarts.
func proof(token string, inode uint64) string {
	mac := hmac.New(sha256.New, []byte(token))
	fmt.Fprintf(mac, "inode %d", inode)
	return hex.EncodeToString(mac.Sum(nil))
}

// restorer performs one restore of a volume.
type restorer struct {
	volume *os.File
	top    unix.Stat_t // the volume's root folder
	token  string
	name   string   // name of the restore's folder
	state  *os.File // the restore's folder; nil: it does not exist
	// before is called before each change of the volume; its error stops the restore. Tests use it to simulate crashes and a
	// full disk.
	before func() error
	sync   func(*os.File) error // writes the volume's changes to disk
}

func openVolume(dir, token string) (*restorer, error) {
	volume, err := os.OpenFile(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	top, err := statOpen(volume)
	if err != nil {
		return nil, errors.Join(err, volume.Close())
	}
	return &restorer{volume: volume, top: top, token: token, name: stateName(token), sync: syncAll}, nil
}

func (r *restorer) close() {
	if r.state != nil {
		_ = unix.Flock(int(r.state.Fd()), unix.LOCK_UN) // a process forked meanwhile may have inherited the descriptor
		r.state.Close()
	}
	r.volume.Close()
}

func (r *restorer) step() error {
	if r.before == nil {
		return nil
	}
	return r.before()
}

// errForeign is the reason for not touching a folder.
var errForeign = errors.New("it has the name of a folder of `toskose volume restore`, which did not make it: rename or remove it")

// find opens and locks the folder of an interrupted restore with the same token. r.state stays nil if there is none.
func (r *restorer) find() error {
	state, err := openFolder(r.volume, r.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return fmt.Errorf("%q in the volume: %w", r.name, errForeign)
	}
	if err != nil {
		return err
	}
	err = r.lock(state)
	if err == nil {
		err = r.authenticate(state)
	}
	if err != nil {
		return errors.Join(err, state.Close())
	}
	r.state = state
	return nil
}

// lock prevents a concurrent restore of the same volume. The kernel releases the lock when the process exits.
func (r *restorer) lock(state *os.File) error {
	err := unix.Flock(int(state.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errors.New("another restore of the volume is running")
	}
	return nil // some network file systems do not support locks
}

// authenticate verifies that a folder was created by a restore with this token. A restore that was interrupted while it
// created or removed the folder has left neither a proof nor files.
func (r *restorer) authenticate(state *os.File) error {
	s, err := statOpen(state)
	if err != nil {
		return err
	}
	if s.Dev != r.top.Dev {
		return fmt.Errorf("%q in the volume: %w", r.name, errForeign)
	}
	if target, err := readLink(state, proofLink); err == nil && hmac.Equal([]byte(target), []byte(proof(r.token, s.Ino))) {
		return nil
	}
	names, err := namesIn(state)
	if err != nil {
		return err
	}
	for _, name := range names {
		if name != phaseDone || unix.Unlinkat(int(state.Fd()), name, unix.AT_REMOVEDIR) != nil {
			return fmt.Errorf("%q in the volume: %w", r.name, errForeign)
		}
	}
	return nil
}

// create creates the folder, its proof, and an empty folder for the new data.
func (r *restorer) create() (fresh *os.File, err error) {
	if err := r.mkdir(r.volume, r.name); err != nil {
		return nil, err
	}
	if r.state, err = openFolder(r.volume, r.name); err != nil {
		return nil, err
	}
	if err := r.lock(r.state); err != nil {
		return nil, err
	}
	s, err := statOpen(r.state)
	if err == nil {
		err = r.step()
	}
	if err == nil {
		err = unix.Symlinkat(proof(r.token, s.Ino), int(r.state.Fd()), proofLink)
	}
	if err == nil {
		err = r.mkdir(r.state, phaseNew)
	}
	if err != nil {
		return nil, err
	}
	return openFolder(r.state, phaseNew)
}

// keepTraits stores the traits that the volume's root folder gets at the end.
func (r *restorer) keepTraits(t traits) error {
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	if err := r.step(); err != nil {
		return err
	}
	fd, err := unix.Openat(int(r.state.Fd()), topTraits, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), topTraits)
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// applyTraits applies the stored traits to the volume's root folder. If the users of the volume are not root, that folder
// belongs to the file system and is not changed.
func (r *restorer) applyTraits() error {
	fd, err := unix.Openat(int(r.state.Fd()), topTraits, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), topTraits)
	defer f.Close()
	var t traits
	if err := json.NewDecoder(f).Decode(&t); err != nil {
		return fmt.Errorf("cannot read the mode of the volume: %w", err)
	}
	if err := t.apply(r.volume, ".", false); err != nil && !errors.Is(err, unix.EPERM) {
		return err
	}
	return nil
}
