package image

import (
	"archive/tar"
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// epoch is the time of all files and images, so that the same input gives the
// same bytes. It is the earliest that a zip can hold.
var epoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// The bits of a file's type that an engine writes into the mode of a layer's
// entries, beside those of archive/tar.
const (
	typeFile   = 0o100000
	typeFolder = 0o040000
)

// entry is a file or folder of a tree.
type entry struct {
	name string // without a slash at its beginning or end
	mode int64  // permission bits
	dir  bool
	uid  int // the group is 0
	size int64
	open func() (io.ReadCloser, error) // nil of a folder
}

// tree is what one layer adds to an image: parents come before what is in
// them, in the order of a walk through folders.
type tree []entry

// bytesEntry is a file of root's with contents of ours.
func bytesEntry(name string, mode int64, data []byte) entry {
	return entry{name: name, mode: mode, size: int64(len(data)), open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(string(data))), nil
	}}
}

// newTree sorts entries and adds the folders they are in, which are root's.
func newTree(entries []entry) tree {
	have := map[string]bool{}
	for _, e := range entries {
		have[e.name] = true
	}
	t := tree(slices.Clone(entries))
	for _, e := range entries {
		for i, c := range e.name {
			if c == '/' && !have[e.name[:i]] {
				have[e.name[:i]] = true
				t = append(t, entry{name: e.name[:i], mode: 0o755, dir: true})
			}
		}
	}
	slices.SortFunc(t, func(a, b entry) int {
		return slices.CompareFunc(strings.Split(a.name, "/"), strings.Split(b.name, "/"), cmp.Compare)
	})
	return t
}

// header is the one that an engine gives to the file when it makes a layer of
// it: so a layer made here has the same digest as one made by an engine.
func (e *entry) header() *tar.Header {
	h := &tar.Header{
		Name: e.name, Mode: typeFile | e.mode, Typeflag: tar.TypeReg, Size: e.size,
		Uid: e.uid, ModTime: epoch, Format: tar.FormatPAX, Gname: "root",
	}
	if e.dir {
		h.Name, h.Mode, h.Typeflag = e.name+"/", typeFolder|e.mode, tar.TypeDir
	}
	if e.uid == 0 {
		h.Uname = "root"
	}
	return h
}

// write writes the tree as a tar.
func (t tree) write(ctx context.Context, w io.Writer) error {
	tw := tar.NewWriter(w)
	for _, e := range t {
		if err := e.write(ctx, tw); err != nil {
			return fmt.Errorf("cannot add %q: %w", e.name, err)
		}
	}
	return tw.Close()
}

// block is what a tar consists of.
const block = 512

// piece is how much is written to a file at a time. As all pieces have the same
// length, each begins where a page does: what the kernel would copy by itself is
// behind a header and does not, which takes it half as long again.
const piece = 256 << 10

// writeTo writes the same bytes as write, to a file.
func (t tree) writeTo(ctx context.Context, f *os.File) error {
	w := bufio.NewWriterSize(f, piece)
	if err := t.write(ctx, w); err != nil {
		return err
	}
	return w.Flush()
}

func (e *entry) write(ctx context.Context, tw *tar.Writer) error {
	if err := tw.WriteHeader(e.header()); err != nil || e.dir {
		return err
	}
	r, err := e.open()
	if err != nil {
		return err
	}
	defer r.Close()
	from := &stoppable{ctx, r}
	n, err := io.Copy(tw, io.LimitReader(from, e.size))
	if err == nil {
		var more int64
		more, err = io.Copy(io.Discard, from)
		n += more
	}
	if err == nil && n != e.size {
		return fmt.Errorf("it has %d bytes instead of %d", n, e.size)
	}
	return err
}

// size is how long the tar is that write writes.
func (t tree) size() (int64, error) {
	total := int64(2 * block) // at the end
	for _, e := range t {
		var head counter
		if err := tar.NewWriter(&head).WriteHeader(e.header()); err != nil {
			return 0, fmt.Errorf("cannot add %q: %w", e.name, err)
		}
		total += int64(head) + (e.size+block-1)/block*block
	}
	return total, nil
}

// files is how many files it has, folders not counted.
func (t tree) files() int {
	n := 0
	for _, e := range t {
		if !e.dir {
			n++
		}
	}
	return n
}

// contents is how many bytes its files have.
func (t tree) contents() int64 {
	total := int64(0)
	for _, e := range t {
		total += e.size
	}
	return total
}

// counter counts what is written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// stoppable is a reader that ends with its context.
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
