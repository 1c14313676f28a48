package volumes

import (
	"bytes"
	"context"
	"encoding/json"
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
type folders struct {
	dir   string
	notes map[string]Note
}

func (f folders) List(context.Context) ([]Volume, error) {
	entries, err := os.ReadDir(f.dir)
	var all []Volume
	for _, e := range entries {
		all = append(all, Volume{Name: e.Name(), ID: filepath.Join(f.dir, e.Name())})
	}
	return all, err
}

func (folders) Save(_ context.Context, v Volume, out io.Writer) error {
	return tree.WriteWithSummary(out, v.ID)
}

func (folders) Load(_ context.Context, v Volume, token string, in io.Reader, out io.Writer) error {
	return tree.Replace(in, v.ID, token, reporting(out), confirmed(in))
}

func (folders) Recover(_ context.Context, v Volume, token string, out io.Writer) error {
	return tree.Recover(v.ID, token, reporting(out))
}

func reporting(out io.Writer) func(tree.Report) error {
	return func(r tree.Report) error { return json.NewEncoder(out).Encode(r) }
}

func confirmed(in io.Reader) func() error {
	return func() error {
		_, err := io.ReadFull(in, make([]byte, 1))
		return err
	}
}

func (f folders) Note(_ context.Context, v Volume) (Note, error) { return f.notes[v.ID], nil }

func (f folders) SetNote(_ context.Context, v Volume, n Note) error {
	f.notes[v.ID] = n
	return nil
}

func (folders) Tidy(context.Context) ([]string, error) { return nil, nil }
func (folders) Stop(context.Context, User) error       { return nil }
func (folders) Start(context.Context, User) error      { return nil }

// place is one with two volumes, which have a file.
func place(t *testing.T, text string) folders {
	t.Helper()
	f := folders{t.TempDir(), map[string]Note{}}
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
	if want := (Size{Entries: 4, Bytes: 8}); sizes["data"].Size != want || sizes["data"].Unverified {
		t.Errorf("it has %v, want %v", sizes["data"], want)
	}
	return b.Bytes()
}

func TestABackupIsRestoredIntoVolumesOfTheSameNames(t *testing.T) {
	t.Parallel()
	file := saved(t, place(t, "-old"))
	about, sizes, err := Check(bytes.NewReader(file))
	if err != nil || about.Application != "shop" || sizes["more"] != (Size{Entries: 4, Bytes: 8}) {
		t.Fatalf("%+v, %v, %v", about, sizes, err)
	}
	to := place(t, "-new")
	all, err := to.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if has, earlier, err := Load(t.Context(), to, bytes.NewReader(file), "more", all[1], quietly); err != nil || has != tree.New || earlier != "" {
		t.Fatal(has, earlier, err)
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

func (broken) Load(_ context.Context, _ Volume, _ string, in io.Reader, _ io.Writer) error {
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
	if has, _, err := Load(t.Context(), p, bytes.NewReader(savedBig(t, p.folders)), "data", all[0], quietly); has != tree.Old || !errors.Is(err, errBroken) || !strings.Contains(err.Error(), `cannot restore volume "data"`) {
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

// killing is a place whose command is killed at a moment of a restore: its notes stay as they
// are then, and its program gets no more input.
type killing struct {
	folders
	at string
}

var errCommand = errors.New("the command was killed")

func (k *killing) SetNote(ctx context.Context, v Volume, n Note) error {
	switch {
	case k.at == "dead":
		return errCommand
	case k.at == "before it notes the end" && n.Restored, k.at == "before it removes the note" && n == (Note{}):
		k.at = "dead"
		return errCommand
	}
	return k.folders.SetNote(ctx, v, n)
}

func (k *killing) Load(ctx context.Context, v Volume, token string, in io.Reader, out io.Writer) error {
	switch k.at {
	case "before its program runs":
		k.at = "dead"
		return errCommand
	case "while it feeds":
		k.at = "dead"
		return errors.Join(k.folders.Load(ctx, v, token, io.LimitReader(in, 700), io.Discard), errCommand)
	case "before it hears the end":
		k.at = "dead"
		return errors.Join(tree.Replace(in, v.ID, token, reporting(io.Discard), func() error { return errCommand }), errCommand)
	}
	return k.folders.Load(ctx, v, token, in, out)
}

func (k *killing) Recover(ctx context.Context, v Volume, token string, out io.Writer) error {
	if k.at == "dead" {
		return errCommand
	}
	return k.folders.Recover(ctx, v, token, out)
}

// TestTheNextCommandSaysWhichDataAVolumeHas after one that was killed at any moment.
func TestTheNextCommandSaysWhichDataAVolumeHas(t *testing.T) {
	t.Parallel()
	file := saved(t, place(t, "-old"))
	for at, want := range map[string]tree.Data{
		"before its program runs": tree.Old, "while it feeds": tree.Old, "before it hears the end": tree.New, "before it notes the end": tree.New, "before it removes the note": tree.New,
	} {
		for _, by := range []string{"backup", "restore"} {
			k := &killing{place(t, "-new"), at}
			all, err := k.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err = Load(t.Context(), k, bytes.NewReader(file), "data", all[0], quietly); err == nil {
				t.Fatalf("%s: it was not killed", at)
			}
			k.at = ""
			has := tree.Data("")
			if by == "backup" {
				has, err = Recover(t.Context(), k, all[0])
			} else {
				_, has, err = Load(t.Context(), k, bytes.NewReader(savedBig(t, k.folders)), "more", all[0], quietly)
			}
			if err != nil || has != want {
				t.Errorf("killed %s, then a %s: it has its %q data, want %q (%v)", at, by, has, want, err)
			}
			text := map[tree.Data]string{tree.Old: "data-new", tree.New: "data-old"}[want]
			if by == "restore" {
				text = "more-new"
			}
			if data := read(t, k.folders, "data"); data != text {
				t.Errorf("killed %s, then a %s: the file has %q", at, by, data)
			}
			if k.notes[all[0].ID] != (Note{}) {
				t.Errorf("killed %s, then a %s: the note stays", at, by)
			}
		}
	}
}

// TestAnInterruptedRestoreSaysThatTheOldDataIsThere once that is so.
func TestAnInterruptedRestoreSaysThatTheOldDataIsThere(t *testing.T) {
	t.Parallel()
	p := place(t, strings.Repeat("x", 1<<20))
	file := savedBig(t, p)
	all, err := p.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	has, _, err := Load(ctx, p, bytes.NewReader(file), "data", all[0], func(string, Size) { interrupt() })
	if has != tree.Old || !errors.Is(err, context.Canceled) || p.notes[all[0].ID] != (Note{}) {
		t.Errorf("%q, %v, %v", has, err, p.notes)
	}
	if entries, err := os.ReadDir(all[0].ID); len(entries) != 1 || err != nil {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestABackupOfAnOlderManagerIsNotVerified: its program writes no summary.
func TestABackupOfAnOlderManagerIsNotVerified(t *testing.T) {
	t.Parallel()
	var c Copied
	if err := c.verify(nil); err != nil || !c.Unverified {
		t.Errorf("%+v, %v", c, err)
	}
	err := c.verify(&tree.Summary{Counted: Size{Entries: 2}})
	if err == nil || !strings.Contains(err.Error(), "the volume has 2 entries") {
		t.Error(err)
	}
}
