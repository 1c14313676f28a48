package layer

import (
	"archive/tar"
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// Epoch is the time of all files and images, for reproducible output. It is the earliest time that
// a zip can represent.
var Epoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// File type bits that an engine adds to the mode of a layer's entries; archive/tar does not set
// them.
const (
	typeFile   = 0o100000
	typeFolder = 0o040000
)

// Entry is a file or folder of a tree.
type Entry struct {
	Name string // without a slash at its beginning or end
	Mode int64  // permission bits
	Dir  bool
	UID  int // the group is 0
	Size int64
	Open func() (io.ReadCloser, error) // nil of a folder
}

// Tree holds the files that one layer adds to an image. Each folder comes before its contents, in
// the order of fs.WalkDir.
type Tree []Entry

// Data returns a file with the given contents, owned by root.
func Data(name string, mode int64, data []byte) Entry {
	return Entry{Name: name, Mode: mode, Size: int64(len(data)), Open: func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(data)), nil
	}}
}

// NewTree sorts entries and adds their missing parent folders, owned by root.
func NewTree(entries []Entry) Tree {
	have := map[string]bool{}
	for _, e := range entries {
		have[e.Name] = true
	}
	t := Tree(slices.Clone(entries))
	for _, e := range entries {
		for i, c := range e.Name {
			if c == '/' && !have[e.Name[:i]] {
				have[e.Name[:i]] = true
				t = append(t, Entry{Name: e.Name[:i], Mode: 0o755, Dir: true})
			}
		}
	}
	slices.SortFunc(t, func(a, b Entry) int {
		return slices.CompareFunc(strings.Split(a.Name, "/"), strings.Split(b.Name, "/"), cmp.Compare)
	})
	return t
}

// header returns the same header as an engine that builds a layer with the file, so that a build
// from a context produces the same digests.
func (e *Entry) header() *tar.Header {
	h := &tar.Header{
		Name: e.Name, Mode: typeFile | e.Mode, Typeflag: tar.TypeReg, Size: e.Size,
		Uid: e.UID, ModTime: Epoch, Format: tar.FormatPAX, Gname: "root",
	}
	if e.Dir {
		h.Name, h.Mode, h.Typeflag = e.Name+"/", typeFolder|e.Mode, tar.TypeDir
	}
	if e.UID == 0 {
		h.Uname = "root"
	}
	return h
}

// WriteTar writes the tree as a tar.
func (t Tree) WriteTar(ctx context.Context, w io.Writer) error {
	tw := tar.NewWriter(w)
	for _, e := range t {
		if err := e.AddTo(ctx, tw); err != nil {
			return fmt.Errorf("cannot add %q: %w", e.Name, err)
		}
	}
	return tw.Close()
}

// block is the block size of a tar archive.
const block = 512

// writeSize is the size of writes to a file. Writes of equal size stay aligned to a page. A direct
// copy by the kernel would start behind a tar header, unaligned, and take 1.5 times as long.
const writeSize = 256 << 10

// WriteFile writes the same bytes as WriteTar to a file.
func (t Tree) WriteFile(ctx context.Context, path string) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, writeSize)
	if err := t.WriteTar(ctx, w); err != nil {
		return err
	}
	return w.Flush()
}

// AddTo adds the file to a tar. Its size must equal the entry's Size.
func (e *Entry) AddTo(ctx context.Context, tw *tar.Writer) error {
	if err := tw.WriteHeader(e.header()); err != nil || e.Dir {
		return err
	}
	r, err := e.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	from := Stoppable(ctx, r)
	n, err := io.Copy(tw, io.LimitReader(from, e.Size))
	if err == nil {
		var more int64
		more, err = io.Copy(io.Discard, from)
		n += more
	}
	if err == nil && n != e.Size {
		return fmt.Errorf("it has %d bytes instead of %d", n, e.Size)
	}
	return err
}

// AddTarTo adds the tree to a tar, as a nested tar with the given name.
func (t Tree) AddTarTo(ctx context.Context, tw *tar.Writer, name string) error {
	size, err := t.tarSize()
	if err != nil {
		return err
	}
	if err := tw.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: size, ModTime: Epoch}); err != nil {
		return err
	}
	return t.WriteTar(ctx, tw)
}

// tarSize returns the number of bytes that WriteTar writes.
func (t Tree) tarSize() (int64, error) {
	total := int64(2 * block) // at the end
	for _, e := range t {
		var head counter
		if err := tar.NewWriter(&head).WriteHeader(e.header()); err != nil {
			return 0, fmt.Errorf("cannot add %q: %w", e.Name, err)
		}
		total += int64(head) + (e.Size+block-1)/block*block
	}
	return total, nil
}

// Files returns the number of files, without folders.
func (t Tree) Files() int {
	n := 0
	for _, e := range t {
		if !e.Dir {
			n++
		}
	}
	return n
}

// Bytes returns the total size of the files.
func (t Tree) Bytes() int64 {
	total := int64(0)
	for _, e := range t {
		total += e.Size
	}
	return total
}

// counter counts the bytes written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// Stoppable returns a reader that fails once its context is done.
func Stoppable(ctx context.Context, r io.Reader) io.Reader { return &stoppable{ctx, r} }

type stoppable struct {
	ctx context.Context
	r   io.Reader
}

func (s *stoppable) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.r.Read(p)
}
