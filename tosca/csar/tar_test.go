package csar_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/toskose/toskose/tosca/csar"
	"github.com/toskose/toskose/tosca/diag"
)

const second = "tosca_definitions_version: tosca_2_0\n"

// member is an entry of a tar; one whose name ends with a slash is a folder.
type member struct {
	name, data string
	kind       byte
	mode       int64
}

func tarOf(t testing.TB, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range members {
		h := &tar.Header{Name: m.name, Typeflag: m.kind, Size: int64(len(m.data)), Mode: m.mode}
		switch {
		case m.kind == tar.TypeSymlink || m.kind == tar.TypeLink:
			h.Linkname = "main.yaml"
		case m.kind == tar.TypeXGlobalHeader:
			h = &tar.Header{Name: m.name, Typeflag: m.kind, PAXRecords: map[string]string{"comment": "x"}}
		case m.kind == 0 && strings.HasSuffix(m.name, "/"):
			h.Typeflag = tar.TypeDir
		case m.kind == 0:
			h.Typeflag = tar.TypeReg
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, m.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func compressed(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TOSCA 2.0, 17.1.1.1: uncompressed tars, and such as are compressed with gzip.
func TestATarIsReadAsAZipIs(t *testing.T) {
	t.Parallel()
	plain := tarOf(t,
		member{name: "pax_global_header", kind: tar.TypeXGlobalHeader},
		member{name: "./"},
		member{name: "./main.yaml", data: second},
		member{name: "./scripts/run.sh", data: "#!/bin/sh\n", mode: 0o755},
		member{name: "./scripts/deep/er/plain.txt", data: strings.Repeat("text ", 300), mode: 0o644},
		member{name: "./empty/"})
	for name, data := range map[string][]byte{"x.tar": plain, "x.tar.gz": compressed(t, plain), "x.csar": compressed(t, plain)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := csar.Open(written(t, name, data))
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			if a.Entry() != "main.yaml" {
				t.Errorf("entered by %q", a.Entry())
			}
			if err := fstest.TestFS(a, "main.yaml", "scripts/run.sh", "scripts/deep/er/plain.txt", "empty"); err != nil {
				t.Error(err)
			}
			if text, err := a.ReadFile("scripts/deep/er/plain.txt", 1<<20); err != nil || string(text) != strings.Repeat("text ", 300) {
				t.Errorf("read %d bytes: %v", len(text), err)
			}
			for file, want := range map[string]bool{"scripts/run.sh": true, "scripts/deep/er/plain.txt": false} {
				if info, err := a.Stat(file); err != nil || info.Mode()&0o111 != 0 != want {
					t.Errorf("%s: %v, %v", file, info, err)
				}
			}
		})
	}
}

func TestWhatIsWrongWithATarIsOneClearLine(t *testing.T) {
	t.Parallel()
	main := member{name: "main.yaml", data: second}
	whole := tarOf(t, main, member{name: "b", data: strings.Repeat("x", 2000)})
	damaged := bytes.Clone(whole)
	damaged[600], damaged[1024] = 1, 'z' // in the header of the second entry
	limits := csar.Limits{Entries: 4, FileSize: 3 << 20, Total: 4 << 20, Ratio: 100}
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"truncated", whole[:1800], "TOSCA-CSAR-002 x.csar: the archive is a truncated or damaged tar (unexpected EOF)"},
		{"damaged", damaged, "TOSCA-CSAR-002 x.csar: the archive is a truncated or damaged tar (archive/tar: invalid tar header)"},
		{"only a beginning", append([]byte(strings.Repeat("x", 257)), "ustar\x0000"...), "TOSCA-CSAR-002 x.csar: the archive is a truncated or damaged tar (unexpected EOF)"},
		{"no gzip", []byte("\x1f\x8b\x08\x00"), "TOSCA-CSAR-002 x.csar: the archive is a truncated or damaged compressed tar (unexpected EOF)"},
		{"truncated gzip", compressed(t, whole)[:60], "TOSCA-CSAR-002 x.csar: the archive is a truncated or damaged compressed tar (unexpected EOF)"},
		{"a text, compressed", compressed(t, []byte(strings.Repeat("text\n", 200))), "TOSCA-CSAR-002 x.csar: the archive is a truncated or damaged tar (archive/tar: invalid tar header)"},
		{"no entry", tarOf(t, member{name: "d/a.yaml", data: second}), `TOSCA-CSAR-003 x.csar: the archive has no entry definition: neither TOSCA-Metadata/TOSCA.meta nor a YAML file at its root (everything is in folder "d/": zip its content)`},
		{"climbs out", tarOf(t, main, member{name: "../a"}), `TOSCA-CSAR-010 x.csar: "../a" climbs out of the archive with ".."`},
		{"absolute", tarOf(t, main, member{name: "/a"}), `TOSCA-CSAR-010 x.csar: "/a" is an absolute path, which leaves the archive`},
		{"unclean", tarOf(t, main, member{name: "a//b"}), `TOSCA-CSAR-011 x.csar: "a//b" is not a clean path`},
		{"symbolic link", tarOf(t, main, member{name: "l", kind: tar.TypeSymlink}), `TOSCA-CSAR-012 x.csar: "l" is a symbolic link; an archive holds files and folders only`},
		{"link", tarOf(t, main, member{name: "l", kind: tar.TypeLink}), `TOSCA-CSAR-012 x.csar: "l" is a link or special file; an archive holds files and folders only`},
		{"pipe", tarOf(t, main, member{name: "p", kind: tar.TypeFifo}), `TOSCA-CSAR-012 x.csar: "p" is a link or special file; an archive holds files and folders only`},
		{"twice", tarOf(t, main, main), `TOSCA-CSAR-013 x.csar: "main.yaml" is in the archive twice`},
		{"file and folder", tarOf(t, main, member{name: "a"}, member{name: "a/b"}), `TOSCA-CSAR-013 x.csar: "a" is in the archive as a file and as a folder`},
		{"case clash", tarOf(t, main, member{name: "Main.yaml"}), `TOSCA-CSAR-014 x.csar: "Main.yaml" and "main.yaml" differ by case only`},
		{"too many", tarOf(t, main, member{name: "1"}, member{name: "2"}, member{name: "3"}, member{name: "4"}), "TOSCA-CSAR-020 x.csar: the archive has more than 4 files and folders"},
		{"too many that are implied", tarOf(t, main, member{name: "1/2/3/4"}), "TOSCA-CSAR-020 x.csar: the archive has more than 4 files and folders"},
		{"too large", tarOf(t, main, member{name: "b", data: strings.Repeat("x", 3<<20+1)}), `TOSCA-CSAR-021 x.csar: "b" unpacks to 3145729 bytes; at most 3145728 are read`},
		{"too large together", tarOf(t, main, member{name: "a", data: strings.Repeat("x", 2<<20)}, member{name: "b", data: strings.Repeat("x", 2<<20)}), "TOSCA-CSAR-022 x.csar: the archive unpacks to more than 4194304 bytes"},
		{"too large when unpacked", compressed(t, append(bytes.Repeat([]byte("0123456789abcdef"), 5<<16), noise(100_000)...)), "TOSCA-CSAR-022 x.csar: the archive unpacks to more than 4194304 bytes"},
		{"bomb", compressed(t, make([]byte, 3<<20)), "TOSCA-CSAR-023 x.csar: the archive is compressed more than 100 to 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := csar.OpenWith(written(t, "x.csar", tt.data), limits)
			var list diag.List
			if !errors.As(err, &list) || len(list) != 1 {
				t.Fatalf("got %v, not one diagnostic", err)
			}
			if got := list[0].Code + " " + list.Error(); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// noise is text that gzip does not make much smaller.
func noise(n int) []byte {
	made, state := make([]byte, n), uint32(1)
	for i := range made {
		state = state*1664525 + 1013904223
		made[i] = byte(state >> 24)
	}
	return made
}

func TestATarKnowsNoOtherNames(t *testing.T) {
	t.Parallel()
	a, err := csar.Open(written(t, "x.tar", tarOf(t, member{name: "main.yaml", data: second})))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for name, want := range map[string]error{"none": fs.ErrNotExist, "../main.yaml": fs.ErrInvalid, "/main.yaml": fs.ErrInvalid, "main.yaml/x": fs.ErrNotExist} {
		if _, err := a.Stat(name); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", name, err, want)
		}
		if f, err := a.Open(name); err == nil {
			f.Close()
			t.Errorf("%s was opened", name)
		}
	}
}
