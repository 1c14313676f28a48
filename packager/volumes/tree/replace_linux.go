package tree

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrMixed is returned if a restore can be neither finished nor undone. The volume then has parts of both its old and its new
// data, and the rest of both is in the restore's folder.
var ErrMixed = errors.New("the volume has a part of its old and a part of its new data, and the rest in a folder at its top: run the command again, which finishes or undoes the restore")

// Replace replaces the contents of a folder with those of a stream. It moves the first file only after all of the new data is
// on disk beside the old, which takes space for both. If anything fails, the folder keeps its old data. If the process is
// killed, Recover or Replace with the same token finishes or undoes the restore.
//
// After it has reported New, Replace keeps a record of that in the folder until confirm returns nil. The caller thereby
// confirms that it has stored the report.
func Replace(in io.Reader, dir, token string, report func(Report) error, confirm func() error) error {
	r, err := openVolume(dir, token)
	if err != nil {
		return err
	}
	defer r.close()
	return r.replace(in, report, confirm)
}

// Recover finishes or undoes an interrupted restore, and reports the outcome.
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
	return nil // the next restore, or Recover, reports New again
}

// recover finishes an interrupted restore if its data was complete. Otherwise, or if it cannot be finished, recover undoes it.
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
	case "": // nothing was created yet, or the restore was confirmed
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

// undo restores the old data after an error.
func (r *restorer) undo(err error, report func(Report) error) error {
	if failed := r.backward(); failed != nil {
		return errors.Join(err, failed, ErrMixed)
	}
	return r.failed(err, report)
}

// failed cleans up after a restore that leaves the old data.
func (r *restorer) failed(err error, report func(Report) error) error {
	left := r.discard()
	return errors.Join(err, left, report(Report{Has: Old, Left: r.state != nil}))
}

// phase returns the phase of the restore, or "" if it has only begun.
func (r *restorer) phase() (string, error) {
	for _, phase := range []string{phaseDone, phasePlacing, phaseReady, phaseNew} {
		if is, err := exists(r.state, phase); is || err != nil {
			return phase, err
		}
	}
	return "", nil
}

// stage unpacks a stream beside the old data, and returns once the new data is complete and on disk.
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

// yieldRecovered drops an empty lost+found of the new data if the file system has its own, which the process may not move.
func (r *restorer) yieldRecovered(fresh *os.File) error {
	if keeps, err := r.keeps(recovered); !keeps || err != nil {
		return err
	}
	if err := r.rmdir(fresh, recovered); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot restore %q: the file system of the volume has its own: %w", recovered, err)
	}
	return nil
}

// keeps reports whether an entry at the top of the volume is not data and must stay.
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

// backward moves the new data out of the volume and the old data into it. If it is interrupted, forward can continue.
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

// discard removes the new data and everything else that the restore created.
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

// tidy removes the entries that are no longer needed once the volume has its data.
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

// nothing is a report function for a caller that needs no reports.
func nothing(Report) error { return nil }

// ReplaceUnobserved replaces the contents of a folder for a caller that keeps no token. If it is killed while it moves files,
// the restore's folder stays in the volume.
func ReplaceUnobserved(in io.Reader, dir string) error {
	return Replace(in, dir, NewToken(), nothing, func() error { return nil })
}
