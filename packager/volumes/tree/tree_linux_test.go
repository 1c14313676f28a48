package tree

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

var when = time.Date(2001, 2, 3, 4, 5, 6, 789, time.UTC)

// volume is a folder with a file of each kind.
func volume(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	must(t,
		os.MkdirAll(in("data/deep"), 0o750), os.MkdirAll(in("lost+found"), 0o700), os.Mkdir(in("empty"), 0o700),
		os.WriteFile(in("data/a\\b"), []byte("text"), 0o640), os.WriteFile(in("data/deep/run"), []byte("#!"), 0o700),
		os.WriteFile(in("zero"), nil, 0o600), os.Symlink("/etc/passwd", in("absolute")), os.Symlink("data", in("link")),
		os.Link(in("data/a\\b"), in("same")), unix.Mkfifo(in("pipe"), 0o620),
		os.Chmod(in("data/deep/run"), 0o750|fs.ModeSetgid), os.Chmod(dir, 0o2770|fs.ModeSetgid),
	)
	if err := unix.Lsetxattr(in("zero"), "user.colour", []byte("green"), 0); err != nil && !errors.Is(err, unix.ENOTSUP) {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		must(t, os.Lchown(in("data"), 999, 1000), os.Lchown(in("link"), 999, 1000))
	}
	for _, name := range []string{"data/a\\b", "data/deep", "zero", "link", "."} {
		stamp := unix.NsecToTimespec(when.UnixNano())
		must(t, unix.UtimesNanoAt(unix.AT_FDCWD, in(name), []unix.Timespec{stamp, stamp}, unix.AT_SYMLINK_NOFOLLOW))
	}
	return dir
}

// listing describes all that is in a folder.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		stat := info.Sys().(*syscall.Stat_t)
		text, _ := os.Readlink(path)
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			must(t, err)
			text = fmt.Sprintf("%.40q of %d bytes (%x), %d names", data, len(data), sha256.Sum256(data), stat.Nlink)
		}
		attributes, _, err := attributes(path, false)
		must(t, err)
		at := ""
		if strings.Contains("data/a\\b data/deep zero link", name) && name != "." {
			at = info.ModTime().UTC().String()
		}
		fmt.Fprintf(&b, "%s %s %d:%d %s %v %s\n", name, info.Mode(), stat.Uid, stat.Gid, text, attributes, at)
		return nil
	})
	must(t, err)
	return b.String()
}

func written(t *testing.T, dir string) []byte {
	t.Helper()
	var b bytes.Buffer
	must(t, Write(&b, dir))
	return b.Bytes()
}

func TestAFolderComesBackAsItWas(t *testing.T) {
	t.Parallel()
	from := volume(t)
	stream := written(t, from)
	to := t.TempDir()
	must(t, os.WriteFile(filepath.Join(to, "old"), nil, 0o600), os.Mkdir(filepath.Join(to, "data"), 0o700))
	for range 2 { // into other data, and into the same
		must(t, ReplaceUnobserved(bytes.NewReader(stream), to))
	}
	if diff := cmp.Diff(strings.Join(strings.Split(listing(t, from), "\n")[1:], "\n"), strings.Join(strings.Split(listing(t, to), "\n")[1:], "\n")); diff != "" {
		t.Error(diff)
	}
	info, err := os.Stat(to)
	must(t, err)
	if info.Mode() != fs.ModeDir|fs.ModeSetgid|0o770 || !info.ModTime().Equal(when) {
		t.Errorf("the folder is %s of %s", info.Mode(), info.ModTime())
	}
}

func TestAFileWithHolesHasThemAgain(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), t.TempDir()
	const size = 16 << 20
	f, err := os.Create(filepath.Join(from, "file"))
	must(t, err)
	_, err = f.WriteAt([]byte("in the middle"), size/2)
	must(t, err, f.Truncate(size), f.Close())
	must(t, ReplaceUnobserved(bytes.NewReader(written(t, from)), to))
	info, err := os.Stat(filepath.Join(to, "file"))
	must(t, err)
	text, err := os.ReadFile(filepath.Join(to, "file"))
	must(t, err)
	if blocks := info.Sys().(*syscall.Stat_t).Blocks; info.Size() != size || blocks*512 > size/8 || string(text[size/2:][:13]) != "in the middle" || len(bytes.Trim(text, "\x00")) != 13 {
		t.Errorf("it has %d bytes in %d blocks, of %d", info.Size(), blocks, size)
	}
}

func TestAStreamThatIsCutOffReplacesNothing(t *testing.T) {
	t.Parallel()
	stream := written(t, volume(t))
	to := t.TempDir()
	must(t, os.WriteFile(filepath.Join(to, "old"), []byte("kept"), 0o600), os.Mkdir(filepath.Join(to, "folder"), 0o700))
	before := listing(t, to)
	for n := 0; n < len(stream)-1024; n += 256 {
		err := ReplaceUnobserved(bytes.NewReader(stream[:n]), to)
		if !errors.Is(err, ErrCut) {
			t.Fatalf("of %d bytes, %d: %v", len(stream), n, err)
		}
		if diff := cmp.Diff(before, listing(t, to)); diff != "" {
			t.Fatalf("of %d bytes, %d: %s", len(stream), n, diff)
		}
	}
}

func TestHostileEntriesAreRefusedAndNothingIsOutside(t *testing.T) {
	t.Parallel()
	file := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o600} }
	link := func(name, to string) tar.Header {
		return tar.Header{Name: name, Linkname: to, Typeflag: tar.TypeSymlink}
	}
	for name, entries := range map[string][]tar.Header{
		"above":                  {file("../x")},
		"above, within":          {file("a/../../x")},
		"above, in the end":      {file("a/..")},
		"absolute":               {file("/x")},
		"through a link":         {link("out", ".."), file("out/x")},
		"over a link":            {link("x", "../x"), file("x")},
		"a folder over a link":   {link("x", ".."), {Name: "x/", Typeflag: tar.TypeDir, Mode: 0o700}},
		"a hard link out":        {{Name: "x", Linkname: "../secret", Typeflag: tar.TypeLink}},
		"an absolute hard link":  {{Name: "x", Linkname: "/etc/passwd", Typeflag: tar.TypeLink}},
		"a hard link, by a link": {link("out", ".."), {Name: "x", Linkname: "out/secret", Typeflag: tar.TypeLink}},
		"a device":               {{Name: "x", Typeflag: tar.TypeBlock}},
		"twice":                  {file("x"), file("x")},
	} {
		above := t.TempDir()
		dir := filepath.Join(above, "volume")
		must(t, os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(above, "secret"), nil, 0o600), os.WriteFile(filepath.Join(dir, "old"), nil, 0o600))
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, h := range entries {
			must(t, w.WriteHeader(&h))
		}
		must(t, w.Close())
		before := listing(t, above)
		if err := ReplaceUnobserved(&b, dir); err == nil {
			t.Errorf("%s: not refused", name)
		}
		if diff := cmp.Diff(before, listing(t, above)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func FuzzReplace(f *testing.F) {
	dir := f.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("b"), 0o600); err != nil {
		f.Fatal(err)
	}
	var b bytes.Buffer
	if err := Write(&b, dir); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, stream []byte) {
		r := NewReader(bytes.NewReader(stream))
		for {
			h, err := r.Next()
			if err != nil {
				if errors.Is(err, io.EOF) && len(stream) < 1024 {
					t.Error("a stream without an end has ended")
				}
				return
			}
			_ = Check(h)
		}
	})
}
