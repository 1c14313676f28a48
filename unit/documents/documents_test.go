package documents

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/toskose/toskose/unit/wire"
)

func document(revision, content string) wire.Document {
	r, err := wire.ParseRevision(revision)
	if err != nil {
		panic(err)
	}
	return wire.Document{Revision: r, Content: []byte(content)}
}

func wantFault(t *testing.T, err error, code wire.FaultCode, text string) {
	t.Helper()
	if got, _ := wire.FaultCodeOf(err); got != code || !strings.Contains(err.Error(), text) {
		t.Errorf("the answer is %v, want %s with %q", err, code, text)
	}
}

func wantGoal(t *testing.T, f Folder, revision, content string) {
	t.Helper()
	d, err := f.Get("goal")
	if err != nil || d.Revision.String() != revision || string(d.Content) != content {
		t.Errorf("kept is %s %q, %v; want %s %q", d.Revision, d.Content, err, revision, content)
	}
}

func TestTheHigherRevisionWins(t *testing.T) {
	t.Parallel()
	f := Folder{Path: t.TempDir()}
	_, err := f.Get("goal")
	wantFault(t, err, wire.NoDocument, "yet")
	if f.Revisions() != nil {
		t.Errorf("there are %v", f.Revisions())
	}
	for _, step := range []struct {
		revision, content string
		written           bool
		winner            string // of what is refused
	}{
		{"2:b", "first\n", true, ""},
		{"2:b", "first\n", false, ""},
		{"2:b", "other", false, "2:b"},
		{"2:a", "first\n", false, "2:b"},
		{"1:z", "first\n", false, "2:b"},
		{"2:c", "\x00\xff", true, ""},
		{"10:a", "", true, ""},
		{"9:z", "x", false, "10:a"},
	} {
		written, err := f.Put("goal", document(step.revision, step.content))
		if written != step.written || (err != nil) != (step.winner != "") {
			t.Errorf("%+v: %v, %v", step, written, err)
		}
		if step.winner != "" {
			wantFault(t, err, wire.OldRevision, step.winner)
			var refused *wire.Fault
			if errors.As(err, &refused); refused.Revision != step.winner {
				t.Errorf("%+v: the winner is %q", step, refused.Revision)
			}
			continue
		}
		wantGoal(t, f, step.revision, step.content)
	}
	if all := f.Revisions(); len(all) != 1 || all["goal"] != "10:a" {
		t.Errorf("revisions %v", all)
	}
	_, err = f.Put("../goal", document("1:a", ""))
	wantFault(t, err, wire.NoDocument, "no document is named")
}

func TestADocumentReplacesTheRevisionThatItNames(t *testing.T) {
	t.Parallel()
	f := Folder{Path: t.TempDir()}
	forged := document("18446744073709551615:zzzzzzzzzz", "forged")
	if _, err := f.Put("goal", forged); err != nil {
		t.Fatal(err)
	}
	d := document("3:a", "up")
	for _, replaces := range []string{"", "7:b"} {
		if replaces != "" {
			d.Replaces = document(replaces, "").Revision
		}
		_, err := f.Put("goal", d)
		wantFault(t, err, wire.OldRevision, "18446744073709551615:zzzzzzzzzz")
	}
	d.Replaces = forged.Revision
	if written, err := f.Put("goal", d); err != nil || !written {
		t.Errorf("%v, %v", written, err)
	}
	wantGoal(t, f, "3:a", "up")
}

func TestWhatAnotherOwnerHasLeftIsNone(t *testing.T) {
	t.Parallel()
	f := Folder{Path: t.TempDir()}
	for _, owner := range []string{"", "first", "second", ""} { // each finds what the one before has left
		f.Owner = owner
		_, err := f.Get("goal")
		wantFault(t, err, wire.NoDocument, "")
		if f.Revisions() != nil {
			t.Errorf("%q keeps %v", owner, f.Revisions())
		}
		if written, err := f.Put("goal", document("1:a", "of "+owner)); !written || err != nil {
			t.Errorf("%q: %v, %v", owner, written, err)
		}
		wantGoal(t, f, "1:a", "of "+owner)
		f.Owner += "x"
		_, err = f.Get("goal")
		wantFault(t, err, wire.NoDocument, "another owner")
	}
}

func TestUnitsThatShareAFolderEndWithTheSameWinner(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var all sync.WaitGroup
	const units, revisions = 8, 20
	for unit := range units {
		all.Go(func() {
			for i := range revisions {
				revision := fmt.Sprintf("%d:u%d", (i*7+unit)%revisions, unit)
				if _, err := (Folder{Path: dir}).Put("goal", document(revision, strings.Repeat(revision, 1000))); err != nil {
					if code, _ := wire.FaultCodeOf(err); code != wire.OldRevision {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	winner := fmt.Sprintf("%d:u%d", revisions-1, units-1)
	wantGoal(t, Folder{Path: dir}, winner, strings.Repeat(winner, 1000))
}

func TestAFolderThatCannotBeUsedSaysSo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, missing := range []string{filepath.Join(dir, "missing"), filepath.Join(dir, "file", "x")} {
		_, err := Folder{Path: missing}.Get("goal")
		wantFault(t, err, wire.NoDocuments, missing)
		_, err = Folder{Path: missing}.Put("goal", document("1:a", "x"))
		wantFault(t, err, wire.NoDocuments, missing)
	}
	// A folder in the file's place cannot be read as one.
	if err := os.Mkdir(filepath.Join(dir, "goal"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Folder{Path: dir}.Put("goal", document("1:a", "x"))
	wantFault(t, err, wire.NoStorage, "is a directory")
}

func TestADamagedDocumentIsNoneAndIsReplaced(t *testing.T) {
	t.Parallel()
	f := Folder{Path: t.TempDir()}
	if _, err := f.Put("goal", document("5:a", "content")); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(f.path("goal"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		damaged := bytes.Clone(whole)
		damaged[i] ^= 1
		if err := os.WriteFile(f.path("goal"), damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if d, err := f.Get("goal"); err == nil {
			t.Errorf("with byte %d flipped it is %s %q", i, d.Revision, d.Content)
		}
	}
	if err := os.WriteFile(f.path("goal"), whole[:len(whole)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = f.Get("goal")
	wantFault(t, err, wire.NoDocument, "damaged")
	if _, err := f.Put("goal", document("1:b", "next")); err != nil {
		t.Fatal(err)
	}
	wantGoal(t, f, "1:b", "next")
}

func TestOnAFullDiskTheDocumentStaysAsItWas(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("it needs a file system of its own (run as root)")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("no tmpfs can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	f := Folder{Path: dir}
	first := strings.Repeat("x", 20<<10)
	if _, err := f.Put("goal", document("1:a", first)); err != nil {
		t.Fatal(err)
	}
	_, err := f.Put("goal", document("2:a", strings.Repeat("y", wire.MaxDocumentBytes)))
	wantFault(t, err, wire.NoStorage, "no space left")
	wantGoal(t, f, "1:a", first)
	if _, err := f.Put("goal", document("2:a", first)); err != nil {
		t.Errorf("a smaller one: %v", err)
	}
}

func TestWhatIsNoRevisionIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "1", "1:", ":a", "-1:a", "01:a", "+1:a", "1:a b", "1:a\n", "1:a:b", "18446744073709551616:a", "1:" + strings.Repeat("a", 65)} {
		if r, err := wire.ParseRevision(text); err == nil {
			t.Errorf("%q is %s", text, r)
		}
	}
}

// The folder is one that other users can write: what they put there is neither followed
// nor truncated by root.
func TestADocumentFollowsNoLinkOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can be misled")
	}
	dir, victim := t.TempDir(), filepath.Join(t.TempDir(), "victim")
	f := Folder{Path: dir}
	if _, err := f.Put("goal", document("1:a", "from elsewhere")); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.Chmod(dir, 0o777), os.Chown(dir, 12345, 12345), os.Rename(f.path("goal"), victim),
		os.Symlink(victim, f.path("goal")), os.Symlink(victim, f.path("goal")+".new"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if d, err := f.Get("goal"); err == nil {
		t.Errorf("what the link points to is read: %q", d.Content)
	}
	if err := os.Remove(f.path("goal")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Put("goal", document("2:a", "mine")); err != nil {
		t.Fatal(err)
	}
	wantGoal(t, f, "2:a", "mine")
	if text, err := os.ReadFile(victim); err != nil || !strings.HasSuffix(string(text), "from elsewhere") {
		t.Errorf("the file of root has %q, %v", text, err)
	}
}
