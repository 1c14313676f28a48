package csar

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// archiveFile is an archive in a file, which is closed with it.
type archiveFile struct {
	tree
	file *os.File
}

func openPacked(path string, limits Limits) (tree, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot open the archive: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("cannot open the archive: %w", err)
	}
	t, err := readPacked(f, info.Size(), limits)
	if err != nil {
		f.Close()
		return nil, err
	}
	return &archiveFile{t, f}, nil
}

func (p *archiveFile) Close() error { return errors.Join(p.tree.Close(), p.file.Close()) }

// readPacked tells a tar by what it begins with, and takes all else for a zip,
// whatever its name says.
func readPacked(r io.ReaderAt, size int64, limits Limits) (tree, error) {
	head := make([]byte, 262)
	if _, err := r.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("cannot read the archive: %w", err)
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return readCompressedTar(r, size, limits)
	case bytes.HasSuffix(head, []byte("ustar")) && !bytes.HasPrefix(head, []byte("PK")):
		return readTar(r, size, limits)
	}
	return readZip(r, size, limits)
}
