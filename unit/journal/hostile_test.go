package journal

import (
	"os"
	"path/filepath"
	"testing"
)

// A journal's folder that another user can write must not make root write, truncate or
// remove a file elsewhere.
func TestAJournalFollowsNoLinkOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can be misled")
	}
	parent := t.TempDir()
	victim := filepath.Join(parent, "victim")
	f := &folder{dir: filepath.Join(parent, "journal")}
	for _, err := range []error{
		os.WriteFile(victim, []byte("secret"), 0o600), os.Mkdir(f.dir, 0o755), os.Chown(f.dir, 12345, 12345),
		os.Symlink(victim, filepath.Join(f.dir, "a")), os.Symlink(victim, filepath.Join(f.dir, "b.new")), f.lock(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if out, err := f.open("a"); err == nil {
		out.Close()
		t.Error("a link is opened for writing")
	}
	if in, err := f.read("a"); err == nil {
		in.Close()
		t.Error("a link is read")
	}
	if err := f.replace("b", []byte("new")); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(victim); err != nil || string(text) != "secret" {
		t.Errorf("the file of root has %q, %v", text, err)
	}
	if err := f.unlock(); err != nil {
		t.Error(err)
	}
}
