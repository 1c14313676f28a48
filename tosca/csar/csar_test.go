package csar_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/toskose/toskose/tosca/csar"
	"github.com/toskose/toskose/tosca/diag"
)

const (
	metaPath = "TOSCA-Metadata/TOSCA.meta"
	meta     = "TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\nCreated-By: a test\nEntry-Definitions: app.yaml\n"
	titled   = "tosca_definitions_version: tosca_simple_yaml_1_0\nmetadata:\n  template_name: app\n  template_version: 1.0\n"
)

// entry is a file of a zip that is made as it says, however wrong that is.
type entry struct {
	name   string
	data   string
	mode   fs.FileMode
	flags  uint16
	method uint16
}

func zipOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: e.method, Flags: e.flags}
		if e.mode != 0 {
			h.SetMode(e.mode)
		}
		var f io.Writer
		var err error
		if e.flags != 0 || e.method > zip.Deflate {
			h.UncompressedSize64, h.CompressedSize64 = uint64(len(e.data)), uint64(len(e.data))
			f, err = w.CreateRaw(h)
		} else {
			f, err = w.CreateHeader(h)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, e.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const flagUTF8 = 1 << 11

// edited changes the bytes of a zip behind the last of a mark.
func edited(data []byte, mark string, from int, to string) []byte {
	at := bytes.LastIndex(data, []byte(mark)) + from
	return slices.Concat(data[:at], []byte(to), data[at+len(to):])
}

// misplaced makes a zip whose directory says that its last file begins behind
// its end.
func misplaced(t testing.TB, entries ...entry) []byte {
	return edited(zipOf(t, entries...), "PK\x01\x02", 42, "\xff\xff\xff\x00")
}

// commented returns a zip a comment.
func commented(t testing.TB, data []byte, comment string) []byte {
	t.Helper()
	size := string([]byte{byte(len(comment)), byte(len(comment) >> 8)})
	return append(edited(data, "PK\x05\x06", 20, size), comment...)
}

func written(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWhatIsWrongWithAnArchiveIsOneClearLine(t *testing.T) {
	t.Parallel()
	m := entry{name: metaPath, data: meta}
	app := entry{name: "app.yaml", data: titled}
	limits := csar.Limits{Entries: 8, FileSize: 3 << 20, Total: 4 << 20, Ratio: 100}
	whole := zipOf(t, m, app)
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"a template by another name", []byte(titled), "TOSCA-CSAR-001 x.csar: the archive is neither a zip nor a tar (the name of a service template ends in .yaml or .yml)"},
		{"no name", zipOf(t, m, app, entry{name: ""}), "TOSCA-CSAR-011 x.csar: the archive has an entry without a name"},
		{"meta in UTF-16", zipOf(t, entry{name: metaPath, data: "\xff\xfeT\x00"}, app), `TOSCA-CSAR-005 TOSCA-Metadata/TOSCA.meta: "TOSCA-Metadata/TOSCA.meta" of x.csar is written in UTF-16, and must be in UTF-8`},
		{"meta without a version", zipOf(t, entry{name: metaPath, data: "TOSCA-Meta-File-Version: 1.0\nEntry-Definitions: app.yaml\n"}, app), `TOSCA-CSAR-006 TOSCA-Metadata/TOSCA.meta: "TOSCA-Metadata/TOSCA.meta" of x.csar has no CSAR-Version; 1.0, 1.1 and 2.0 are known`},
		{"meta names a folder", zipOf(t, entry{name: metaPath, data: strings.Replace(meta, "app.yaml", "TOSCA-Metadata", 1)}, app), `TOSCA-CSAR-003 TOSCA-Metadata/TOSCA.meta:4:20: "TOSCA-Metadata/TOSCA.meta" of x.csar names "TOSCA-Metadata", which is a folder`},
		{"meta has a line without end", zipOf(t, entry{name: metaPath, data: meta + "X: " + strings.Repeat("y", 1<<17)}, app), `TOSCA-CSAR-005 TOSCA-Metadata/TOSCA.meta:5: "TOSCA-Metadata/TOSCA.meta" of x.csar has a line that is too long`},
		{"a file begins nowhere", misplaced(t, m, app), `TOSCA-CSAR-002 TOSCA-Metadata/TOSCA.meta:4:20: "TOSCA-Metadata/TOSCA.meta" of x.csar names "app.yaml", which cannot be read (EOF)`},
		{"comment with an end of its own", commented(t, whole, "PK\x05\x06\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), "TOSCA-CSAR-002 x.csar: the archive is a truncated or damaged zip (zip: not a valid zip file)"},
		{"XML", []byte("<?xml version=\"1.0\"?>\n<Definitions/>"), "TOSCA-CSAR-001 x.csar: the archive is XML: service templates in XML, of TOSCA 1.0, are not read"},
		{"no zip", []byte("hello, world, this is a text"), "TOSCA-CSAR-001 x.csar: the archive is neither a zip nor a tar"},
		{"empty file", nil, "TOSCA-CSAR-001 x.csar: the archive is neither a zip nor a tar"},
		{"truncated", whole[:len(whole)-40], "TOSCA-CSAR-002 x.csar: the archive is a truncated or damaged zip (zip: not a valid zip file)"},
		{"no entry", zipOf(t, entry{name: "readme.txt"}), "TOSCA-CSAR-003 x.csar: the archive has no entry definition: neither TOSCA-Metadata/TOSCA.meta nor a YAML file at its root"},
		{"folder zipped", zipOf(t, entry{name: "app/app.yaml"}), `TOSCA-CSAR-003 x.csar: the archive has no entry definition: neither TOSCA-Metadata/TOSCA.meta nor a YAML file at its root (everything is in folder "app/": zip its content)`},
		{"meta names nothing", zipOf(t, entry{name: metaPath, data: "TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\n"}), `TOSCA-CSAR-003 TOSCA-Metadata/TOSCA.meta: "TOSCA-Metadata/TOSCA.meta" of x.csar names no Entry-Definitions`},
		{"meta names a missing file", zipOf(t, m), `TOSCA-CSAR-003 TOSCA-Metadata/TOSCA.meta:4:20: "TOSCA-Metadata/TOSCA.meta" of x.csar names "app.yaml", which is not in the archive`},
		{"meta climbs out", zipOf(t, entry{name: metaPath, data: strings.Replace(meta, "app.yaml", "../app.yaml", 1)}), `TOSCA-CSAR-010 TOSCA-Metadata/TOSCA.meta:4:20: "TOSCA-Metadata/TOSCA.meta" of x.csar names "../app.yaml", which climbs out of the archive with ".."`},
		{"two root files", zipOf(t, entry{name: "a.yaml"}, entry{name: "b.yml"}), "TOSCA-CSAR-004 x.csar: the archive has 2 YAML files at its root (a.yaml, b.yml): say in TOSCA-Metadata/TOSCA.meta which is the entry definition"},
		{"meta of 2.0 names nothing, and two may be meant", zipOf(t, entry{name: "TOSCA.meta", data: "CSAR-Version: 2.0\n"}, entry{name: "a.yaml"}, entry{name: "b.yml"}), "TOSCA-CSAR-004 x.csar: the archive has 2 YAML files at its root (a.yaml, b.yml): say in TOSCA-Metadata/TOSCA.meta which is the entry definition"},
		{"meta is prose", zipOf(t, entry{name: metaPath, data: "hello\n"}), `TOSCA-CSAR-005 TOSCA-Metadata/TOSCA.meta:1:1: "TOSCA-Metadata/TOSCA.meta" of x.csar has no "Key: value" in line 1`},
		{"a name in quotes is one", zipOf(t, entry{name: metaPath, data: meta + "Other-Definitions: app.yaml \"my app.yaml\"\n"}, app), `TOSCA-CSAR-003 TOSCA-Metadata/TOSCA.meta:5:20: "TOSCA-Metadata/TOSCA.meta" of x.csar names "my app.yaml", which is not in the archive`},
		{"meta says a thing twice", zipOf(t, entry{name: metaPath, data: meta + "CSAR-Version: 1.0\n"}), `TOSCA-CSAR-005 TOSCA-Metadata/TOSCA.meta:5:1: "TOSCA-Metadata/TOSCA.meta" of x.csar has CSAR-Version twice`},
		{"unknown version", zipOf(t, entry{name: metaPath, data: strings.Replace(meta, "1.1", "7.0", 1)}, app), `TOSCA-CSAR-006 TOSCA-Metadata/TOSCA.meta:2:15: "TOSCA-Metadata/TOSCA.meta" of x.csar has CSAR-Version "7.0"; 1.0, 1.1 and 2.0 are known`},
		{"two of meta", zipOf(t, m, app, entry{name: "TOSCA.meta", data: meta}), "TOSCA-CSAR-005 x.csar: the archive has two of TOSCA.meta: one at its root, and TOSCA-Metadata/TOSCA.meta"},
		{"no metadata", zipOf(t, entry{name: "app.yaml", data: "tosca_definitions_version: x\n"}), `TOSCA-CSAR-007 x.csar: "app.yaml" needs template_name and template_version under metadata to be the entry of an archive without TOSCA-Metadata/TOSCA.meta`},
		{"climbs out", zipOf(t, m, app, entry{name: "a/../../passwd"}), `TOSCA-CSAR-010 x.csar: "a/../../passwd" climbs out of the archive with ".."`},
		{"absolute", zipOf(t, m, app, entry{name: "/etc/passwd"}), `TOSCA-CSAR-010 x.csar: "/etc/passwd" is an absolute path, which leaves the archive`},
		{"backslash", zipOf(t, m, app, entry{name: `..\passwd`}), `TOSCA-CSAR-010 x.csar: "..\\passwd" has a backslash in its path, which some systems take for a folder`},
		{"drive", zipOf(t, m, app, entry{name: "C:passwd"}), `TOSCA-CSAR-010 x.csar: "C:passwd" begins with a drive letter, which leaves the archive`},
		{"unclean", zipOf(t, m, app, entry{name: "a//b"}), `TOSCA-CSAR-011 x.csar: "a//b" is not a clean path`},
		{"control character", zipOf(t, m, app, entry{name: "a\nb"}), `TOSCA-CSAR-011 x.csar: "a\nb" has a control character in its name`},
		{"no UTF-8", zipOf(t, m, app, entry{name: "a\xffb", flags: flagUTF8}), `TOSCA-CSAR-011 x.csar: "a?b" is not a name in UTF-8`},
		{"symlink", zipOf(t, m, app, entry{name: "link", data: "/etc/passwd", mode: fs.ModeSymlink | 0o777}), `TOSCA-CSAR-012 x.csar: "link" is a symbolic link; an archive holds files and folders only`},
		{"device", zipOf(t, m, app, entry{name: "null", mode: fs.ModeDevice | fs.ModeCharDevice | 0o666}), `TOSCA-CSAR-012 x.csar: "null" is a special file; an archive holds files and folders only`},
		{"duplicate", zipOf(t, m, app, app), `TOSCA-CSAR-013 x.csar: "app.yaml" is in the archive twice`},
		{"file and folder", zipOf(t, m, app, entry{name: "a"}, entry{name: "a/b"}), `TOSCA-CSAR-013 x.csar: "a" is in the archive as a file and as a folder`},
		{"folder and file", zipOf(t, m, app, entry{name: "a/b"}, entry{name: "a"}), `TOSCA-CSAR-013 x.csar: "a" is in the archive twice`},
		{"case clash", zipOf(t, m, app, entry{name: "App.yaml"}), `TOSCA-CSAR-014 x.csar: "App.yaml" and "app.yaml" differ by case only`},
		{"case clash of folders", zipOf(t, m, app, entry{name: "a/x"}, entry{name: "A/y"}), `TOSCA-CSAR-014 x.csar: "A" and "a" differ by case only`},
		{"encrypted", zipOf(t, m, app, entry{name: "secret", data: "x", flags: 1}), `TOSCA-CSAR-015 x.csar: "secret" is encrypted`},
		{"unknown compression", zipOf(t, m, app, entry{name: "odd", data: "x", method: 12}), `TOSCA-CSAR-016 x.csar: "odd" is compressed by method 12; stored and deflated files are read`},
		{"too many", zipOf(t, m, app, entry{name: "1"}, entry{name: "2"}, entry{name: "3"}, entry{name: "4"}, entry{name: "5"}, entry{name: "6"}, entry{name: "7"}), "TOSCA-CSAR-020 x.csar: the archive has 9 entries; at most 8 are read"},
		{"too large", zipOf(t, m, app, entry{name: "big", data: strings.Repeat("x", 3<<20+1)}), `TOSCA-CSAR-021 x.csar: "big" unpacks to 3145729 bytes; at most 3145728 are read`},
		{"too large together", zipOf(t, m, app, entry{name: "b1", data: strings.Repeat("x", 2<<20)}, entry{name: "b2", data: strings.Repeat("x", 2<<20)}), "TOSCA-CSAR-022 x.csar: the archive unpacks to more than 4194304 bytes"},
		{"bomb", zipOf(t, m, app, entry{name: "bomb", data: strings.Repeat("x", 2<<20), method: zip.Deflate}), `TOSCA-CSAR-023 x.csar: "bomb" is compressed more than 100 to 1`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := written(t, "x.csar", tt.data)
			_, err := csar.OpenWith(path, limits)
			var list diag.List
			if !errors.As(err, &list) || len(list) != 1 {
				t.Fatalf("got %v, not one diagnostic", err)
			}
			if got := list[0].Code + " " + list.Error(); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
				t.Errorf("reading left %d files behind", len(left)-1)
			}
		})
	}
}

func TestWhatCannotBeOpenedIsNoDiagnostic(t *testing.T) {
	t.Parallel()
	_, err := csar.Open(filepath.Join(t.TempDir(), "none.csar"))
	var list diag.List
	if !errors.Is(err, fs.ErrNotExist) || errors.As(err, &list) {
		t.Errorf("got %v", err)
	}
}

func TestAnArchiveIsAFileSystem(t *testing.T) {
	t.Parallel()
	a, err := csar.Open(written(t, "app.csar", zipOf(t,
		entry{name: metaPath, data: meta + "Other-Definitions: scripts/run.sh\n\nName: more\n"},
		entry{name: "app.yaml", data: titled},
		entry{name: "scripts/run.sh", data: "#!/bin/sh\n", mode: 0o755, method: zip.Deflate},
		entry{name: "empty/", mode: fs.ModeDir | 0o755})))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if a.Entry() != "app.yaml" || a.Meta().CreatedBy != "a test" || a.Name() != "app.csar" {
		t.Errorf("got entry %q, meta %+v, name %q", a.Entry(), a.Meta(), a.Name())
	}
	if err := fstest.TestFS(a, "app.yaml", "scripts/run.sh", "empty"); err != nil {
		t.Error(err)
	}
	info, err := a.Stat("scripts/run.sh")
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the script's mode is lost: %v, %v", info, err)
	}
	if _, err := a.ReadFile("scripts/run.sh", 4); err == nil {
		t.Error("a file beyond the limit was read")
	}
}

func TestAnArchiveWithoutMetaIsEnteredByItsRootFile(t *testing.T) {
	t.Parallel()
	for name, entries := range map[string][]entry{
		"one":               {{name: "service.yml", data: titled}, {name: "types/t.yaml"}},
		"one with metadata": {{name: "service.yml", data: titled}, {name: "toskose.yml", data: "nodes: {}\n"}},
		"early drafts":      {{name: "service.yml", data: "template_name: a\ntemplate_version: 1\n"}},
		"flow style":        {{name: "service.yml", data: "metadata: {template_name: a,\n  template_version: 1}\nx: y\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := csar.Open(written(t, "app.zip", zipOf(t, entries...)))
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			if a.Entry() != "service.yml" {
				t.Errorf("the entry is %q", a.Entry())
			}
		})
	}
}

func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestADirectoryIsAnArchiveToo(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"app.yaml": "a: b\n", "scripts/run.sh": "x", ".git/HEAD": "ref"})
	a, err := csar.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if a.Entry() != "app.yaml" {
		t.Errorf("the entry is %q", a.Entry())
	}
	if err := fstest.TestFS(a, "app.yaml", "scripts/run.sh"); err != nil {
		t.Error(err)
	}
	if entries, _ := a.ReadDir("."); len(entries) != 2 {
		t.Errorf("version control is listed too: %v", entries)
	}
}

func TestALoneTemplateIsReadWithTheFilesBesideIt(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"app.yaml": "a: b\n", "other.yaml": "", "scripts/run.sh": "x"})
	a, err := csar.Open(filepath.Join(dir, "app.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if a.Entry() != "app.yaml" || !a.Lone() || !a.IsFile("scripts/run.sh") || a.IsFile("scripts") || a.IsFile("../x") {
		t.Errorf("entry %q; the files beside it are not as they are", a.Entry())
	}
}

func TestNoLinkInADirectoryIsFollowed(t *testing.T) {
	t.Parallel()
	outside := tree(t, map[string]string{"secret": "x"})
	for name, make := range map[string]func(dir string) error{
		"to a file":        func(dir string) error { return os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, "odd")) },
		"to a folder":      func(dir string) error { return os.Symlink(outside, filepath.Join(dir, "odd")) },
		"within":           func(dir string) error { return os.Symlink("app.yaml", filepath.Join(dir, "odd")) },
		"a FIFO, no link":  func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, "odd"), 0o600) },
		"a name that lies": func(dir string) error { return os.WriteFile(filepath.Join(dir, `odd\odd`), nil, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := tree(t, map[string]string{"app.yaml": "a: b\n"})
			if err := make(dir); err != nil {
				t.Fatal(err)
			}
			var list diag.List
			if _, err := csar.Open(dir); !errors.As(err, &list) {
				t.Errorf("as a directory: got %v", err)
			}
			a, err := csar.Open(filepath.Join(dir, "app.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			for _, path := range []string{"odd", "odd/secret", `odd\odd`} {
				if f, err := a.Open(path); err == nil {
					f.Close()
					t.Errorf("beside a lone template: %q was opened", path)
				}
			}
		})
	}
}

func TestADirectoryIsBounded(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"app.yaml": "a: b\n", "b": "12345", "c": "12345"})
	for name, limits := range map[string]csar.Limits{
		"entries": {Entries: 2, FileSize: 100, Total: 100},
		"a file":  {Entries: 9, FileSize: 4, Total: 100},
		"total":   {Entries: 9, FileSize: 100, Total: 9},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var list diag.List
			if _, err := csar.OpenWith(dir, limits); !errors.As(err, &list) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(zipOf(f, entry{name: metaPath, data: meta}, entry{name: "app.yaml", data: titled}))
	f.Add(zipOf(f, entry{name: "app.yaml", data: titled}, entry{name: "a/b", data: "x", method: zip.Deflate}))
	f.Add([]byte("PK\x05\x06"))
	plain := tarOf(f, member{name: "./main.yaml", data: second}, member{name: "a/b", data: "x", mode: 0o755}, member{name: "c/"})
	f.Add(plain)
	f.Add(compressed(f, plain))
	limits := csar.Limits{Entries: 100, FileSize: 1 << 16, Total: 1 << 18, Ratio: 100}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := csar.OpenReader("fuzz.csar", bytes.NewReader(data), int64(len(data)), limits)
		if (err == nil) == (a == nil) {
			t.Fatal("neither an archive nor an error, or both")
		}
		if err != nil {
			return
		}
		defer a.Close()
		if !a.IsFile(a.Entry()) {
			t.Errorf("the entry %q is no file", a.Entry())
		}
		err = fs.WalkDir(a, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || !fs.ValidPath(name) {
				t.Errorf("%q: %v", name, err)
			}
			if err == nil && !d.IsDir() {
				if content, err := a.ReadFile(name, limits.FileSize); err == nil && int64(len(content)) > limits.FileSize {
					t.Errorf("%q has %d bytes", name, len(content))
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// Only Entry-Definitions must be in TOSCA.meta, and the versions that say how to
// read it (TOSCA 1.3, 6.2).
func TestAnArchiveNeedNotSayWhoMadeIt(t *testing.T) {
	t.Parallel()
	for _, m := range []string{
		"TOSCA-Meta-File-Version: 1.1\nCSAR-Version: 1.1\nEntry-Definitions: app.yaml\n",
		"TOSCA-Meta-Version: 1.0\r\nCSAR-Version: 1.0\r\nEntry-Definitions: app.yaml\r\n\r\nName: app.yaml\r\n",
		"CSAR-Version: 2.0\nEntry-Definitions: app.yaml\n",
	} {
		a, err := csar.Open(written(t, "x.csar", zipOf(t, entry{name: metaPath, data: m}, entry{name: "app.yaml", data: titled})))
		if err != nil {
			t.Errorf("%q: %v", m, err)
			continue
		}
		if a.Entry() != "app.yaml" || a.Meta().CreatedBy != "" {
			t.Errorf("%q: entered by %q, made by %q", m, a.Entry(), a.Meta().CreatedBy)
		}
		a.Close()
	}
}

// CSAR 2.0 has its TOSCA.meta at the root or in the old place, with no version
// of that file, and names with blanks in quotes; without it, a document of 2.0
// needs no metadata (TOSCA 2.0, 17).
func TestAnArchiveOf20IsEnteredByItsOwnRules(t *testing.T) {
	t.Parallel()
	const meta2 = "CSAR-Version: 2.0\nCreated-By: a test\nEntry-Definitions: main.yaml\nOther-Definitions: other.yaml \"with blank.yaml\"\n\nName: a block of its own\n"
	doc := "tosca_definitions_version: tosca_2_0\n"
	files := []entry{{name: "main.yaml", data: doc}, {name: "other.yaml", data: doc}, {name: "with blank.yaml", data: doc}}
	for name, data := range map[string][]byte{
		"root":    zipOf(t, append(files, entry{name: "TOSCA.meta", data: meta2})...),
		"folder":  zipOf(t, append(files, entry{name: metaPath, data: meta2})...),
		"no meta": zipOf(t, entry{name: "main.yaml", data: doc}),
		"no entry named": zipOf(t, entry{name: "main.yaml", data: doc}, entry{name: "more/other.yaml", data: doc},
			entry{name: "TOSCA.meta", data: "CSAR-Version: 2.0\nCreated-By: a test\n"}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := csar.Open(written(t, "x.csar", data))
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			if a.Entry() != "main.yaml" {
				t.Errorf("entered by %q", a.Entry())
			}
			if others := a.Meta().Others; !strings.HasPrefix(name, "no ") && !slices.Equal(others, []string{"other.yaml", "with blank.yaml"}) {
				t.Errorf("other definitions are %q", others)
			}
		})
	}
}

// What is wrong with one entry says nothing about the others.
func TestEverythingThatIsWrongWithAnArchiveIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"app.yaml": "a: b\n", "a/x": "", "A/y": ""})
	for _, name := range []string{"link", "other"} {
		if err := os.Symlink("app.yaml", filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	app := entry{name: "app.yaml", data: titled}
	for name, tt := range map[string]struct {
		path string
		want []string
	}{
		"zip": {
			written(t, "x.csar", zipOf(t,
				entry{name: metaPath, data: "CSAR-Version: 7.0\nEntry-Definitions: gone.yaml\n"}, app,
				entry{name: "../up"}, entry{name: "link", data: "x", mode: fs.ModeSymlink | 0o777},
				entry{name: "App.yaml"}, entry{name: "secret", data: "x", flags: 1})),
			[]string{"TOSCA-CSAR-010", "TOSCA-CSAR-012", "TOSCA-CSAR-014", "TOSCA-CSAR-015"},
		},
		"TOSCA.meta": {
			written(t, "x.csar", zipOf(t, app,
				entry{name: metaPath, data: "CSAR-Version: 7.0\nEntry-Definitions: gone.yaml\nOther-Definitions: /x lost.yaml\n"})),
			[]string{"TOSCA-CSAR-003", "TOSCA-CSAR-003", "TOSCA-CSAR-006", "TOSCA-CSAR-006", "TOSCA-CSAR-010"},
		},
		"directory": {dir, []string{"TOSCA-CSAR-012", "TOSCA-CSAR-012", "TOSCA-CSAR-014"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := csar.Open(tt.path)
			var list diag.List
			errors.As(err, &list)
			var codes []string
			for _, d := range list {
				codes = append(codes, d.Code)
			}
			if slices.Sort(codes); !slices.Equal(codes, tt.want) {
				t.Errorf("got %v, want %v:\n%v", codes, tt.want, err)
			}
		})
	}
}

// Thousands of wrong entries help nobody more than a hundred.
func TestWhatIsSaidOfOneArchiveIsBounded(t *testing.T) {
	t.Parallel()
	links := make([]entry, 1000)
	for i := range links {
		links[i] = entry{name: "link" + strings.Repeat("x", i), data: "x", mode: fs.ModeSymlink | 0o777}
	}
	var list diag.List
	if _, err := csar.Open(written(t, "x.csar", zipOf(t, links...))); !errors.As(err, &list) || len(list) != 100 {
		t.Errorf("%d problems", len(list))
	}
}

// A zip64 says in a record of its own how many entries it has.
func TestManyEntriesAreCountedWithoutReadingThem(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := range 70_000 {
		if _, err := w.CreateHeader(&zip.FileHeader{Name: strconv.Itoa(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := csar.Open(written(t, "x.csar", b.Bytes()))
	if want := "x.csar: the archive has 70000 entries; at most 20000 are read"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// What cannot be unpacked is wrong inside the archive, and no trouble of the
// system's.
func TestAFileThatCannotBeUnpackedIsADiagnostic(t *testing.T) {
	t.Parallel()
	m := entry{name: metaPath, data: meta}
	stored := entry{name: "app.yaml", data: titled}
	deflated := entry{name: "app.yaml", data: titled, method: zip.Deflate}
	for name, data := range map[string][]byte{
		"checksum":          edited(zipOf(t, m, stored), "tosca_def", 0, "x"),
		"garbage":           zipOf(t, m, deflated), // and see below
		"longer than it is": edited(zipOf(t, m, deflated), "PK\x01\x02", 24, "\xff\x00\x00\x00"),
		"shorter":           edited(zipOf(t, m, deflated), "PK\x01\x02", 24, "\x05\x00\x00\x00"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "garbage" {
				at := bytes.Index(data, []byte("app.yaml")) + len("app.yaml")
				at = at + bytes.Index(data[at:], []byte("app.yaml")) + len("app.yaml") // TOSCA.meta names it before
				copy(data[at:], "\xff\xff\xff\xff")
			}
			a, err := csar.Open(written(t, "x.csar", data))
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			_, err = a.ReadFile("app.yaml", 1<<20)
			var list diag.List
			if !errors.As(err, &list) || len(list) != 1 || list[0].Code != "TOSCA-CSAR-002" {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Whether a file is named anywhere or not, what became of it is said.
func TestDamagedFilesAreFound(t *testing.T) {
	t.Parallel()
	data := zipOf(t, entry{name: "app.yaml", data: titled}, entry{name: "a.sh", data: "first"}, entry{name: "b.sh", data: "second"}, entry{name: "c/", mode: fs.ModeDir | 0o755})
	data = edited(edited(data, "first", 0, "worst"), "second", 0, "seconc")
	a, err := csar.OpenReader("x.csar", bytes.NewReader(data), int64(len(data)), csar.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	const first, second = `a.sh: "a.sh" is damaged in the archive (zip: checksum error)`, `b.sh: "b.sh" is damaged in the archive (zip: checksum error)`
	for budget, want := range map[int64]string{1 << 20: first + "\n" + second, int64(len(titled)) + 5: first, 0: ""} {
		if got := a.Damaged(budget).Error(); got != want {
			t.Errorf("of %d bytes: got %s, want %s", budget, got, want)
		}
	}
	dir, err := csar.Open(tree(t, map[string]string{"app.yaml": titled}))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if got := dir.Damaged(1 << 20); len(got) > 0 {
		t.Errorf("a directory is damaged: %v", got)
	}
}

// Names that are not called UTF-8 are of code page 437 (APPNOTE, appendix D); many
// programs write UTF-8 all the same.
func TestNamesOfOldZipsAreRead(t *testing.T) {
	t.Parallel()
	data := zipOf(t, entry{name: "app.yaml", data: titled}, entry{name: "caf\x82", flags: 0, data: "x"}, entry{name: "naïve", data: "x"})
	a, err := csar.OpenReader("x.csar", bytes.NewReader(data), int64(len(data)), csar.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"café", "naïve"} {
		if content, err := a.ReadFile(name, 9); err != nil || string(content) != "x" {
			t.Errorf("%s: %q, %v", name, content, err)
		}
	}
}

// TOSCA.meta is written by hand, on any system.
func TestNotationsOfTOSCAMeta(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"DOS":                strings.ReplaceAll(meta, "\n", "\r\n"),
		"old Mac":            strings.ReplaceAll(meta, "\n", "\r"),
		"byte order mark":    "\uFEFF" + meta,
		"no end of line":     strings.TrimSpace(meta),
		"begins empty":       "\n\n" + meta,
		"a value of its own": strings.Replace(meta, " app.yaml", "\n  app.yaml", 1),
		"goes on":            strings.Replace(meta, "a test", "a\n test", 1),
		"quotes":             strings.Replace(meta, "app.yaml", `"app.yaml"`, 1),
		"from the root":      strings.Replace(meta, "app.yaml", "./app.yaml", 1),
		"blocks":             meta + "\nName: app.yaml\nEntry-Definitions: other.yaml\n",
		"no blanks":          strings.ReplaceAll(meta, ": ", ":"),
		"keys of others":     meta + "SHA-Digest: x\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := zipOf(t, entry{name: metaPath, data: text}, entry{name: "app.yaml", data: titled})
			a, err := csar.OpenReader("x.csar", bytes.NewReader(data), int64(len(data)), csar.DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			if a.Entry() != "app.yaml" || a.Meta().CreatedBy != "a test" || a.Meta().CSARVersion != "1.1" {
				t.Errorf("read as %+v", a.Meta())
			}
		})
	}
}

// A link that the user gives is followed as any program does.
func TestALoneTemplateMayBeGivenByALink(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"app.yaml": "a: b\n", "run.sh": "x"})
	link := filepath.Join(t.TempDir(), "link.yaml")
	if err := os.Symlink(filepath.Join(dir, "app.yaml"), link); err != nil {
		t.Fatal(err)
	}
	a, err := csar.Open(link)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if data, err := a.ReadFile(a.Entry(), 99); err != nil || string(data) != "a: b\n" || !a.IsFile("run.sh") {
		t.Errorf("%q is %q, %v", a.Entry(), data, err)
	}
}

// Beyond the folder of a lone template, number and size are bounded as in an archive.
func TestDefinitionsBeyondTheFolderAreBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "app"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"app/app.yaml", "a.yaml", "b.yaml", "c.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("a: 1"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	limits := csar.DefaultLimits()
	limits.Entries = 2
	a, err := csar.OpenWith(filepath.Join(dir, "app", "app.yaml"), limits)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for _, name := range []string{"../a.yaml", "../b.yaml"} {
		if data, err := a.ReadFile(name, 10); err != nil || string(data) != "a: 1" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	for _, name := range []string{"../a.yaml", "../c.txt", "../d.yaml"} {
		if data, err := a.ReadFile(name, 10); err == nil {
			t.Errorf("%s is read: %q", name, data)
		}
	}
	limits.Entries, limits.Total = 10, 5
	if a, err = csar.OpenWith(filepath.Join(dir, "app", "app.yaml"), limits); err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if _, err := a.ReadFile("../a.yaml", 10); err != nil {
		t.Error(err)
	}
	if _, err := a.ReadFile("../b.yaml", 10); err == nil {
		t.Error("more bytes are read than are allowed")
	}
}
