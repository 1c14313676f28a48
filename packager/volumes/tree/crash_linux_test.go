package tree

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

var errKilled = errors.New("killed")

// after returns a hook that lets n changes of a volume happen. From then on all fail, as if
// the process had been killed, or only one, as on a full disk.
func after(n int, err error, all bool) func() error {
	return func() error {
		if n--; n == -1 || all && n < 0 {
			return err
		}
		return nil
	}
}

// story is a restore over old data, many times.
type story struct {
	dir              string
	old, new         string // listings, without the time and mode of the volume's own folder
	oldData, newData []byte
}

func newStory(t *testing.T, seed uint64) *story {
	t.Helper()
	from, old := hostileFolder(t, seed, 0), hostileFolder(t, seed+1, 0)
	must(t, os.WriteFile(filepath.Join(from, "data"), []byte("new"), 0o600), os.WriteFile(filepath.Join(old, "data"), []byte("old"), 0o600))
	return &story{dir: t.TempDir(), old: body(listing(t, old)), new: body(listing(t, from)), oldData: written(t, old), newData: written(t, from)}
}

// body leaves out the volume's own folder.
func body(listing string) string {
	_, rest, _ := strings.Cut(listing, "\n")
	return rest
}

// begin returns a volume with the old data.
func (s *story) begin(t *testing.T) {
	t.Helper()
	must(t, os.RemoveAll(s.dir), os.Mkdir(s.dir, 0o755))
	_, err := s.with(t, nil, func(r *restorer, _ func(Report) error) error {
		return r.replace(bytes.NewReader(s.oldData), nothing, func() error { return nil })
	})
	must(t, err)
}

// restore restores the new data with a hook, and returns what was reported.
func (s *story) restore(t *testing.T, before func() error, confirmed bool) (reports []Report, err error) {
	t.Helper()
	return s.with(t, before, func(r *restorer, report func(Report) error) error {
		return r.replace(bytes.NewReader(s.newData), report, func() error {
			if !confirmed {
				return errKilled
			}
			return nil
		})
	})
}

func (s *story) recover(t *testing.T, before func() error) ([]Report, error) {
	t.Helper()
	return s.with(t, before, func(r *restorer, report func(Report) error) error { return r.recover(report) })
}

func (s *story) with(t *testing.T, before func() error, do func(*restorer, func(Report) error) error) (reports []Report, err error) {
	t.Helper()
	r, err := openVolume(s.dir, "token")
	must(t, err)
	defer r.close()
	r.before, r.sync = before, func(*os.File) error { return nil }
	err = do(r, func(now Report) error {
		reports = append(reports, now)
		return nil
	})
	return reports, err
}

// has checks that the volume has all of its old or all of its new data, and nothing else, and
// that this is what was reported last.
func (s *story) has(t *testing.T, when string, reports []Report) Data {
	t.Helper()
	now := body(listing(t, s.dir))
	said := Data("")
	for _, r := range reports {
		if r.Has != "" {
			said = r.Has
		}
		if r.Interrupted != "" {
			said = r.Interrupted
		}
	}
	switch {
	case now == s.new && said == New:
	case now == s.old && (said == Old || said == ""):
		return Old
	default:
		t.Fatalf("%s: it was said to have %q data:\nagainst the old: %s\nagainst the new: %s", when, said, cmp.Diff(s.old, now), cmp.Diff(s.new, now))
	}
	return New
}

// TestARestoreThatIsKilledAtAnyMomentLeavesTheOldDataOrTheNew, once it was finished or undone,
// however often that is killed, too.
func TestARestoreThatIsKilledAtAnyMomentLeavesTheOldDataOrTheNew(t *testing.T) {
	t.Parallel()
	s, seen := newStory(t, 7), map[Data]int{}
	for n := 0; ; n++ {
		s.begin(t)
		reports, err := s.restore(t, after(n, errKilled, true), true)
		if err == nil {
			s.has(t, "it was not killed", reports)
			break
		}
		for again := range 3 { // in what the next command does
			more, _ := s.recover(t, after(7*again, errKilled, true))
			reports = append(reports, more...)
		}
		more, err := s.recover(t, nil)
		must(t, err)
		if reports = append(reports, more...); len(reports) == 0 { // one of those that were killed has removed all but an empty folder
			now := body(listing(t, s.dir))
			if now != s.old && now != s.new {
				t.Fatalf("killed after %d changes: %s", n, cmp.Diff(s.new, now))
			}
			continue
		}
		seen[s.has(t, fmt.Sprintf("killed after %d changes", n), reports)]++
	}
	if seen[Old] < 10 || seen[New] < 10 {
		t.Errorf("it was killed before and after the new data was complete: %v", seen)
	}
}

// TestARestoreIsUndoneAfterAnyError, as on a full disk.
func TestARestoreIsUndoneAfterAnyError(t *testing.T) {
	t.Parallel()
	s := newStory(t, 11)
	for n := 0; ; n++ {
		s.begin(t)
		reports, err := s.restore(t, after(n, unix.ENOSPC, false), true)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.ENOSPC) {
			t.Fatalf("after %d changes: %v", n, err)
		}
		more, err := s.recover(t, nil) // only what is removed at the end may be left
		must(t, err)
		s.has(t, fmt.Sprintf("full after %d changes", n), append(reports, more...))
	}
}

// TestARestoreIsReportedUntilItIsConfirmed: a command that was killed could not.
func TestARestoreIsReportedUntilItIsConfirmed(t *testing.T) {
	t.Parallel()
	s := newStory(t, 13)
	s.begin(t)
	if reports, err := s.restore(t, nil, false); err != nil || len(reports) != 1 || reports[0].Has != New {
		t.Fatalf("%v, %v", reports, err)
	}
	reports, err := s.recover(t, nil)
	if err != nil || len(reports) != 1 {
		t.Fatalf("%v, %v", reports, err)
	}
	s.has(t, "it was not confirmed", reports)
	if reports, err := s.recover(t, nil); err != nil || len(reports) > 0 {
		t.Errorf("once more: %v, %v", reports, err)
	}
}

// TestADiskThatIsTooSmallKeepsItsOldData: a real one, with every size up to the one that suffices.
func TestADiskThatIsTooSmallKeepsItsOldData(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	s := newStory(t, 17)
	failed := 0
	for pages := 4; ; pages++ {
		s.dir = t.TempDir()
		must(t, unix.Mount("tmpfs", s.dir, "tmpfs", 0, fmt.Sprintf("size=%d,nr_inodes=1000", pages*4096)))
		done := func() bool {
			defer func() { must(t, unix.Unmount(s.dir, unix.MNT_DETACH)) }()
			if err := ReplaceUnobserved(bytes.NewReader(s.oldData), s.dir); err != nil {
				return false // not even the old data has room
			}
			reports, err := s.restore(t, nil, true)
			if err != nil && !errors.Is(err, unix.ENOSPC) {
				t.Fatal(err)
			}
			if err != nil {
				failed++
			}
			return s.has(t, fmt.Sprintf("on %d pages", pages), reports) == New
		}()
		if done {
			break
		}
	}
	if failed == 0 {
		t.Error("each disk had room")
	}
}

// TestTwoRestoresOfOneVolumeExcludeEachOther while the first is unpacking.
func TestTwoRestoresOfOneVolumeExcludeEachOther(t *testing.T) {
	t.Parallel()
	s := newStory(t, 19)
	s.begin(t)
	tried := false
	reports, err := s.restore(t, func() error {
		state := filepath.Join(s.dir, stateName("token"))
		if _, err := os.Lstat(filepath.Join(state, phaseNew)); err == nil && !tried {
			tried = true
			if err := Replace(bytes.NewReader(s.newData), s.dir, "token", nothing, nil); err == nil || !strings.Contains(err.Error(), "another restore of the volume is running") {
				t.Errorf("the second: %v", err)
			}
		}
		return nil
	}, true)
	must(t, err)
	if s.has(t, "it was not alone", reports) != New || !tried {
		t.Error("the first has not restored anything")
	}
}

// TestWhatOtherProgramsMakeMeanwhileDoesNotStopARestore that was interrupted.
func TestWhatOtherProgramsMakeMeanwhileDoesNotStopARestore(t *testing.T) {
	t.Parallel()
	s := newStory(t, 23)
	for n := 0; ; n += 3 {
		s.begin(t)
		if _, err := s.restore(t, after(n, errKilled, true), true); err == nil {
			break
		}
		r, err := openVolume(s.dir, "token")
		must(t, err, r.find())
		phase := phaseNew
		if r.state != nil {
			phase, err = r.phase()
			must(t, err)
		}
		r.close()
		if phase == phaseNew || phase == "" || phase == phaseDone {
			continue // then its data is what it was made into
		}
		must(t, os.RemoveAll(filepath.Join(s.dir, "data")), os.MkdirAll(filepath.Join(s.dir, "data", "again"), 0o700))
		reports, err := s.recover(t, nil)
		must(t, err)
		if phase == phasePlacing { // data may have been in place
			now := body(listing(t, s.dir))
			if now == s.new {
				continue
			}
			if _, err := os.Stat(filepath.Join(s.dir, "data", "again")); err != nil || len(reports) != 1 || reports[0].Interrupted != New {
				t.Errorf("after %d changes: %v, %v", n, reports, err)
			}
			continue
		}
		if s.has(t, fmt.Sprintf("interrupted after %d changes", n), reports) != New {
			t.Errorf("after %d changes: it has its old data", n)
		}
	}
}
