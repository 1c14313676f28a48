package volumes

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/packager/volumes/tree"
)

// folders are volumes, by their names.
type folders struct{ dir string }

func (f folders) List(context.Context) ([]Volume, error) {
	entries, err := os.ReadDir(f.dir)
	var all []Volume
	for _, e := range entries {
		all = append(all, Volume{Name: e.Name(), ID: filepath.Join(f.dir, e.Name())})
	}
	return all, err
}

func (folders) Save(_ context.Context, v Volume, out io.Writer) error { return tree.Write(out, v.ID) }
func (folders) Load(_ context.Context, v Volume, in io.Reader) error  { return tree.Replace(in, v.ID) }
func (folders) Stop(context.Context, User) error                      { return nil }
func (folders) Start(context.Context, User) error                     { return nil }

// place is one with two volumes, which have a file.
func place(t *testing.T, text string) folders {
	t.Helper()
	f := folders{t.TempDir()}
	for _, name := range []string{"data", "more"} {
		in := filepath.Join(f.dir, name, "in")
		if err := errors.Join(os.MkdirAll(in, 0o750), os.WriteFile(filepath.Join(in, "file"), []byte(name+text), 0o640), os.Link(filepath.Join(in, "file"), filepath.Join(in, "again"))); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func read(t *testing.T, f folders, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(f.dir, name, "in", "again"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func quietly(string, Size) {}

func saved(t *testing.T, f folders) []byte {
	t.Helper()
	all, err := f.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	sizes, err := Save(t.Context(), f, Backup{Application: "shop", Made: time.Unix(1e9, 0).UTC()}, all, &b, quietly)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Size{4, 8}); sizes["data"] != want {
		t.Errorf("it has %v, want %v", sizes["data"], want)
	}
	return b.Bytes()
}

func TestABackupIsRestoredIntoVolumesOfTheSameNames(t *testing.T) {
	t.Parallel()
	file := saved(t, place(t, "-old"))
	about, sizes, err := Check(bytes.NewReader(file))
	if err != nil || about.Application != "shop" || sizes["more"] != (Size{4, 8}) {
		t.Fatalf("%+v, %v, %v", about, sizes, err)
	}
	to := place(t, "-new")
	all, err := to.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := Load(t.Context(), to, bytes.NewReader(file), "more", all[1], quietly); err != nil {
		t.Fatal(err)
	}
	if data, more := read(t, to, "data"), read(t, to, "more"); data != "data-new" || more != "more-old" {
		t.Errorf("data has %q, more has %q", data, more)
	}
}

func TestAFileThatIsCutOffOrChangedIsRefused(t *testing.T) {
	t.Parallel()
	file := saved(t, place(t, "-old"))
	for n := 0; n < len(file)-1024; n += 256 {
		if _, _, err := Check(bytes.NewReader(file[:n])); err == nil {
			t.Fatalf("%d bytes of %d are a whole backup", n, len(file))
		}
	}
	for what, change := range map[string][2]string{"a file": {"more-old", "less-old"}, "a name": {"in/file", "in/fire"}} {
		changed := bytes.Replace(file, []byte(change[0]+"\x00"), []byte(change[1]+"\x00"), 1)
		if bytes.Equal(changed, file) {
			t.Fatalf("%s: nothing was changed", what)
		}
		if _, _, err := Check(bytes.NewReader(changed)); err == nil {
			t.Errorf("with %s changed, it is a whole backup", what)
		}
	}
	if _, _, err := Check(strings.NewReader("no backup")); err == nil || err.Error() != "it is not a backup that `toskose volume backup` has made" {
		t.Error(err)
	}
}

// broken fails in the middle of a stream.
type broken struct{ folders }

var errBroken = errors.New("the container was killed")

func (broken) Save(_ context.Context, _ Volume, out io.Writer) error {
	_, _ = out.Write(make([]byte, 512))
	return errBroken
}

func (broken) Load(_ context.Context, _ Volume, in io.Reader) error {
	_, _ = in.Read(make([]byte, 100))
	return errBroken
}

func TestWhyAContainerFailedIsSaid(t *testing.T) {
	t.Parallel()
	p := broken{place(t, strings.Repeat("x", 1<<20))}
	all, err := p.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Save(t.Context(), p, Backup{}, all, io.Discard, quietly); !errors.Is(err, errBroken) || !strings.Contains(err.Error(), `cannot back up volume "data"`) {
		t.Error(err)
	}
	if err := Load(t.Context(), p, bytes.NewReader(savedBig(t, p.folders)), "data", all[0], quietly); !errors.Is(err, errBroken) || !strings.Contains(err.Error(), `cannot restore volume "data"`) {
		t.Error(err)
	}
	if data := read(t, p.folders, "data"); !strings.HasPrefix(data, "dataxx") {
		t.Errorf("it has %.20q", data)
	}
}

func savedBig(t *testing.T, f folders) []byte {
	t.Helper()
	all, err := f.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := Save(t.Context(), f, Backup{}, all, &b, quietly); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestAVolumeOfAnotherMachineIsNotCopied(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		v    Volume
		want string
	}{
		{Volume{Name: "data", Machine: "one"}, ""},
		{Volume{Name: "data", Elsewhere: []string{"two"}}, `volume "data" is on two: name the engine of that machine with --docker-url`},
		{Volume{Name: "data", Machine: "one", Elsewhere: []string{"two"}}, "is on two"}, // left here from before
		{Volume{Name: "data", Machine: "one", Users: []User{{}}, Elsewhere: []string{"two"}}, ""},
	} {
		err := tt.v.Reachable()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.v, err, tt.want)
		}
	}
}
