package tree

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrMixed says that a volume has parts of both its old and its new data, since a restore can
// neither be finished nor undone. Both are complete in the volume.
var ErrMixed = errors.New("the volume has a part of its old and a part of its new data, and the rest in a folder at its top: run the command again, which finishes or undoes the restore")

// Replace replaces the contents of a folder by those of a stream. All of the new data is
// complete beside the old, and on the disk, before the first file is moved; this takes room
// for both. If anything fails, the folder keeps its old data. If the process is killed, Recover
// or Replace with the same token finishes or undoes the restore.
//
// After it has reported New, Replace keeps a mark of that in the folder until confirm
// returns nil, by which the caller confirms that it has noted the report.
func Replace(in io.Reader, dir, token string, report func(Report) error, confirm func() error) error {
	r, err := openVolume(dir, token)
	if err != nil {
		return err
	}
	defer r.close()
	return r.replace(in, report, confirm)
}

// Recover finishes or undoes a restore that was interrupted, and reports which.
func Recover(dir, token string, report func(Report) error) error {
	r, err := openVolume(dir, token)
	if err != nil {
		return err
	}
	defer r.close()
	return r.recover(report)
}

func (r *restorer) replace(in io.Reader, report func(Report) error, confirm func() error) error {
	if err := r.recover(report); err != nil {
		return err
	}
	if err := r.stage(in); err != nil {
		return r.failed(err, report)
	}
	if err := r.forward(phaseReady); err != nil {
		return r.undo(err, report)
	}
	tidied := r.tidy()
	if err := errors.Join(tidied, report(Report{Has: New, Left: tidied != nil})); err != nil {
		return err
	}
	if confirm() == nil {
		return r.end()
	}
	return nil // the next restore, or Recover, reports New once more
}

// recover finishes an interrupted restore if its data was complete, and undoes it otherwise,
// or where it cannot be finished.
func (r *restorer) recover(report func(Report) error) error {
	if err := r.find(); err != nil || r.state == nil {
		return err
	}
	phase, err := r.phase()
	if err != nil {
		return err
	}
	switch phase {
	case phaseReady, phasePlacing:
		if err := r.forward(phase); err != nil {
			if failed := r.backward(); failed != nil {
				return errors.Join(err, failed, ErrMixed)
			}
			return errors.Join(r.discard(), report(Report{Interrupted: Old}))
		}
	case phaseDone:
	case "": // it had made nothing yet, or was confirmed
		return r.end()
	default:
		return errors.Join(r.discard(), report(Report{Interrupted: Old}))
	}
	if err := r.tidy(); err != nil {
		return err
	}
	if err := report(Report{Interrupted: New}); err != nil {
		return err
	}
	return r.end()
}

// undo brings the old data back after an error.
func (r *restorer) undo(err error, report func(Report) error) error {
	if failed := r.backward(); failed != nil {
		return errors.Join(err, failed, ErrMixed)
	}
	return r.failed(err, report)
}

// failed removes what a restore has made that leaves the old data.
func (r *restorer) failed(err error, report func(Report) error) error {
	left := r.discard()
	return errors.Join(err, left, report(Report{Has: Old, Left: r.state != nil}))
}

// phase returns how far the restore is; empty: it has only begun.
func (r *restorer) phase() (string, error) {
	for _, phase := range []string{phaseDone, phasePlacing, phaseReady, phaseNew} {
		if is, err := exists(r.state, phase); is || err != nil {
			return phase, err
		}
	}
	return "", nil
}

// stage unpacks a stream beside the old data, until it is complete and on the disk.
func (r *restorer) stage(in io.Reader) error {
	fresh, err := r.create()
	if err != nil {
		return err
	}
	defer fresh.Close()
	self, err := unpack(in, fresh, r.step)
	if err != nil {
		return err
	}
	if self != nil {
		if err := r.keepTraits(describe(self)); err != nil {
			return err
		}
	}
	if is, err := exists(fresh, r.name); is || err != nil {
		return errors.Join(err, fmt.Errorf("entry %q: %w", r.name, errForeign))
	}
	if err := r.yieldRecovered(fresh); err != nil {
		return err
	}
	if err := r.sync(r.volume); err != nil {
		return err
	}
	if err := r.rename(r.state, phaseNew, r.state, phaseReady); err != nil {
		return err
	}
	return r.sync(r.volume)
}

// yieldRecovered leaves out an empty lost+found where the file system has its own, which the
// process may not move.
func (r *restorer) yieldRecovered(fresh *os.File) error {
	if keeps, err := r.keeps(recovered); !keeps || err != nil {
		return err
	}
	if err := r.rmdir(fresh, recovered); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot restore %q: the file system of the volume has its own: %w", recovered, err)
	}
	return nil
}

// keeps reports whether an entry at the top of the volume is not data.
func (r *restorer) keeps(name string) (bool, error) {
	if name == r.name {
		return true, nil
	}
	if name != recovered {
		return false, nil
	}
	s, err := stat(r.volume, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && isRecovered(name, s, r.top), err
}

// forward moves the old data out of the volume and the new data into it.
func (r *restorer) forward(phase string) error {
	if phase == phaseReady {
		if err := r.moveAll(r.volume, phaseReady, oldData, false); err != nil {
			return err
		}
		if err := r.rename(r.state, phaseReady, r.state, phasePlacing); err != nil {
			return err
		}
	}
	if err := r.moveAll(r.volume, phasePlacing, phasePlacing, true); err != nil {
		return err
	}
	if err := r.step(); err != nil {
		return err
	}
	if err := r.applyTraits(); err != nil {
		return err
	}
	if err := r.sync(r.volume); err != nil {
		return err
	}
	if err := r.rename(r.state, phasePlacing, r.state, phaseDone); err != nil {
		return err
	}
	return r.sync(r.volume)
}

// backward moves the new data out of the volume and the old data into it. If it is
// interrupted, forward can continue from where it was.
func (r *restorer) backward() error {
	phase, err := r.phase()
	if err != nil {
		return err
	}
	if phase == phasePlacing {
		if err := r.moveAll(r.volume, phasePlacing, phasePlacing, false); err != nil {
			return err
		}
		if err := r.rename(r.state, phasePlacing, r.state, phaseReady); err != nil {
			return err
		}
		phase = phaseReady
	}
	if phase == phaseReady {
		if is, err := exists(r.state, oldData); err != nil {
			return err
		} else if is {
			if err := r.moveAll(r.volume, phaseReady, oldData, true); err != nil {
				return err
			}
		}
		if err := r.rename(r.state, phaseReady, r.state, phaseNew); err != nil {
			return err
		}
	}
	return r.sync(r.volume)
}

// discard removes the new data, and all else that the restore has made.
func (r *restorer) discard() error {
	if r.state == nil {
		return nil
	}
	err := errors.Join(r.remove(r.state, phaseNew), r.tidy())
	if err != nil {
		return err
	}
	return r.end()
}

// tidy removes what is needed no more once the volume has its data.
func (r *restorer) tidy() error {
	return errors.Join(r.remove(r.state, oldData), r.removeDisplaced(), r.remove(r.state, topTraits))
}

// end removes the folder of the restore.
func (r *restorer) end() error {
	if err := r.remove(r.state, proofLink); err != nil {
		return err
	}
	if err := r.rmdir(r.state, phaseDone); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	top, failed := r.volumeTimes()
	if err := r.rmdir(r.volume, r.name); err != nil {
		return err
	}
	err := errors.Join(failed, r.state.Close())
	r.state = nil
	if err == nil {
		err = r.setVolumeTimes(top)
	}
	return err
}

// nothing is for a caller that needs no reports.
func nothing(Report) error { return nil }

// ReplaceUnobserved replaces the contents of a folder for a caller that keeps no token. A
// restore that is killed while it moves files leaves its folder in the volume.
func ReplaceUnobserved(in io.Reader, dir string) error {
	return Replace(in, dir, NewToken(), nothing, func() error { return nil })
}
