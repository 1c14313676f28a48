// Package tree writes the contents of a folder as a tar stream and restores them: files with their owners, modes, times, links
// and extended attributes. Both directions use directory descriptors, never follow a link and never enter another file system.
// After a crash, Replace leaves the folder with either its old or its new contents. The package starts no goroutines.
package tree

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Check rejects an entry that would be placed outside the folder, or whose type is not supported. The target of a symbolic
// link is not checked: Replace never writes through it.
func Check(h *tar.Header) error {
	if !local(h.Name) {
		return fmt.Errorf("entry %q is not below the volume", h.Name)
	}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeDir, tar.TypeSymlink, tar.TypeFifo:
		return nil
	case tar.TypeLink:
		if !local(h.Linkname) {
			return fmt.Errorf("entry %q is a link to %q, which is not below the volume", h.Name, h.Linkname)
		}
		return nil
	}
	return fmt.Errorf("entry %q is neither a file, a folder, a link nor a named pipe (type %q)", h.Name, h.Typeflag)
}

// local reports whether an entry's name is the folder itself or a path below it.
func local(name string) bool {
	return name != "" && !strings.HasPrefix(name, "/") && !strings.Contains("/"+name+"/", "/../") && !strings.ContainsRune(name, 0)
}

// ErrCut is returned for a stream that ends before its end mark.
var ErrCut = errors.New("it ends in the middle")

// Reader reads a tar stream and reports whether the stream is complete.
type Reader struct {
	tar     *tar.Reader
	from    *counter
	summary *Summary
}

// counter counts the bytes that were read, and the zeros at their end.
type counter struct {
	r        io.Reader
	n, zeros int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	data := bytes.TrimRight(p[:n], "\x00")
	if len(data) > 0 {
		c.zeros = 0
	}
	c.zeros += int64(n - len(data))
	return n, err
}

// NewReader returns a Reader of a stream.
func NewReader(r io.Reader) *Reader {
	c := &counter{r: r}
	return &Reader{tar: tar.NewReader(c), from: c}
}

// Read reads the contents of the current entry.
func (r *Reader) Read(p []byte) (int, error) { return r.tar.Read(p) }

// Summary returns the summary at the end of the stream, or nil if it has none. It is valid once Next has returned io.EOF.
func (r *Reader) Summary() *Summary { return r.summary }

// Next returns the next entry. It returns io.EOF only after the end mark of the stream: two blocks of zeros, which a truncated
// stream lacks.
func (r *Reader) Next() (*tar.Header, error) {
	for {
		h, err := r.next()
		if err != nil || h.Typeflag != tar.TypeXGlobalHeader || h.PAXRecords[summaryRecord] == "" {
			return h, err
		}
		if r.summary, err = parseSummary(h.PAXRecords[summaryRecord]); err != nil {
			return nil, err
		}
	}
}

func (r *Reader) next() (*tar.Header, error) {
	if _, err := io.Copy(io.Discard, r.tar); err != nil && r.from.n > 0 {
		return nil, cut(err)
	}
	const block = 512
	begins := (r.from.n + block - 1) / block * block
	h, err := r.tar.Next()
	if errors.Is(err, io.EOF) && (r.from.n < begins+2*block || r.from.zeros < 2*block) {
		return nil, ErrCut
	}
	if errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	return h, cut(err)
}

func cut(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrCut
	}
	return err
}
