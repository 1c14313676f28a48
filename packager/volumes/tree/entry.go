// Package tree writes what is in a folder as a tar stream, and puts it back: owners,
// modes, times, links and extended attributes, too. Nothing that a stream says leads out
// of the folder, and nothing is replaced before all of it is there. It starts no goroutine.
package tree

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Check refuses an entry that would be put anywhere but below the folder, or that no volume
// has. What a symbolic link leads to is data: nothing is put there through it.
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

// local reports whether a name of an entry is one below the folder, or the folder.
func local(name string) bool {
	return name != "" && !strings.HasPrefix(name, "/") && !strings.Contains("/"+name+"/", "/../") && !strings.ContainsRune(name, 0)
}

// ErrCut is why a stream that has ended is not whole.
var ErrCut = errors.New("it ends in the middle")

// Reader reads a tar stream and knows whether it has come to its end.
type Reader struct {
	tar  *tar.Reader
	from *counter
}

// counter counts what was read, and the zeros at the end of it.
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

// NewReader returns one of a stream.
func NewReader(r io.Reader) *Reader {
	c := &counter{r: r}
	return &Reader{tar.NewReader(c), c}
}

// Read reads what is in the entry.
func (r *Reader) Read(p []byte) (int, error) { return r.tar.Read(p) }

// Next returns the next entry; io.EOF only after the mark that ends a stream: two blocks
// of zeros, which one that was cut off lacks.
func (r *Reader) Next() (*tar.Header, error) {
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
