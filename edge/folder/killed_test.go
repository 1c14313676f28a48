package folder

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age/plugin"

	"github.com/toskose/toskose/edge"
)

// TestAKilledChangeIsCompletedOrUndone leaves the files as a process does that is killed after each step of a change.
func TestAKilledChangeIsCompletedOrUndone(t *testing.T) {
	t.Parallel()
	for step := 0; ; step++ {
		dir := sampleFolder(t)
		f, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		c, err := edge.Label(f.Document, "edge-b", map[string]string{"GPU": "2"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		c.DrawToken = true
		p, err := f.prepare(c, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		all := killedAfter(t, dir, p.files, step)
		again, err := Open(dir)
		if err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		happened := again.Document.Revision == 2
		if want := step > len(p.files); happened != want {
			t.Fatalf("step %d: revision %d", step, again.Document.Revision)
		}
		for _, one := range p.files {
			data, err := os.ReadFile(filepath.Join(dir, one.name))
			if same := err == nil && string(data) == string(one.data); same != happened {
				t.Errorf("step %d: the change has happened: %v, and in %s: %v", step, happened, one.name, same)
			}
		}
		if left, err := filepath.Glob(filepath.Join(dir, "*", "*"+stagedSuffix)); err != nil || len(left) > 0 {
			t.Errorf("step %d: left are %q, %v", step, left, err)
		}
		again.Close()
		if all {
			return
		}
	}
}

// killedAfter takes the first steps of commit, and reports whether these are all.
func killedAfter(t *testing.T, dir string, files []file, steps int) (all bool) {
	t.Helper()
	if files[0].name != edge.DocumentFile {
		t.Fatalf("the first file is %s", files[0].name)
	}
	for i, f := range files { // commit writes the document first
		if steps == i {
			return false
		}
		if steps == i+1 && steps < len(files) {
			f.data = f.data[:len(f.data)/2] // killed while it writes
		}
		if err := writeAll(dir, []file{f}, stagedSuffix); err != nil {
			t.Fatal(err)
		}
	}
	for i, f := range files {
		if steps == len(files)+i {
			return false
		}
		path := filepath.Join(dir, filepath.FromSlash(f.name))
		if err := os.Rename(path+stagedSuffix, path); err != nil {
			t.Fatal(err)
		}
	}
	return true
}

func sampleFolder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "site")
	o := edge.CreateOptions{Name: "site", Interface: "eth1", Random: rand.Reader}
	for i := range 3 {
		o.Servers = append(o.Servers, edge.Machine{Name: fmt.Sprintf("edge-%c", 'a'+i), Key: testKeys[i]})
	}
	d, err := edge.Create(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := Create(dir, d, rand.Reader); err != nil {
		t.Fatal(err)
	}
	return dir
}

var testKeys = []string{
	"age1dhlusfqygcnwa559ulqwq54x8vu2ra6leeqlgcm0aauj59kyu5vqa07k7f",
	"age107j03mnv55kt20t80mmdd4zrrufm4ygx3w7v752dl2pymxm6xs3sn22c5x",
	"age17n64qu8l84pezpjk3qmmz586z07wln27jy4c5xqvuqd407hlle4s7uq7rw",
}

func TestAPluginThatIsMissingIsNamed(t *testing.T) {
	t.Parallel()
	o := edge.CreateOptions{Name: "site", Interface: "eth1", Random: rand.Reader, Servers: []edge.Machine{{Name: "edge-a", Key: plugin.EncodeRecipient("no-such", []byte("x"))}}}
	d, err := edge.Create(o)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "site")
	if err := Create(dir, d, rand.Reader); err == nil || !strings.Contains(err.Error(), "needs age-plugin-no-such") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the folder was made all the same")
	}
}
