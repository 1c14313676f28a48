package csar

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// zipTree is a zip whose directory has been checked from end to end, so that
// opening one of its files needs no further check of its name.
type zipTree struct {
	*zip.Reader
}

func readZip(r io.ReaderAt, size int64, limits Limits) (*zipTree, error) {
	if n, err := entryCount(r, size); err == nil && n > uint64(limits.Entries) {
		return nil, problem(codeEntries, "", fmt.Sprintf("has %d entries; at most %d are read", n, limits.Entries))
	}
	zr, err := zip.NewReader(r, size)
	if err != nil {
		return nil, notZip(r, err)
	}
	if err := checkEntries(zr, limits); err != nil {
		return nil, err
	}
	return &zipTree{Reader: zr}, nil
}

// notZip tells a damaged zip from what never was one.
func notZip(r io.ReaderAt, cause error) error {
	head := make([]byte, 2)
	if _, err := r.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("cannot read the archive: %w", err)
	}
	if bytes.HasPrefix(head, []byte("PK")) {
		return problem(codeDamaged, "", fmt.Sprintf("is a truncated or damaged zip (%s)", cause))
	}
	return problem(codeNotArchive, "", "is neither a zip nor a tar")
}

// entryCount reads how many entries the end record claims, because
// archive/zip would make them all before anyone can refuse. The record is in
// the last 64 KiB; of a zip64 the count says 65,535, which is above any limit
// that matters.
func entryCount(r io.ReaderAt, size int64) (uint64, error) {
	tail := make([]byte, min(size, 65_557))
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	at := bytes.LastIndex(tail, []byte("PK\x05\x06"))
	if at < 0 || at+12 > len(tail) {
		return 0, zip.ErrFormat
	}
	return uint64(tail[at+10]) | uint64(tail[at+11])<<8, nil
}

func checkEntries(zr *zip.Reader, limits Limits) error {
	if len(zr.File) > limits.Entries {
		return problem(codeEntries, "", fmt.Sprintf("has %d entries; at most %d are read", len(zr.File), limits.Entries))
	}
	seen, total := newNames(), uint64(0)
	for _, f := range zr.File {
		if err := checkEntry(f, limits); err != nil {
			return err
		}
		if err := seen.add(strings.TrimSuffix(f.Name, "/"), strings.HasSuffix(f.Name, "/")); err != nil {
			return err
		}
		total += f.UncompressedSize64
		if total > uint64(limits.Total) {
			return problem(codeTotal, "", fmt.Sprintf("unpacks to more than %d bytes", limits.Total))
		}
	}
	return nil
}

const (
	flagEncrypted    = 1 << 0
	flagStrong       = 1 << 6
	flagMaskedHeader = 1 << 13
	ratioFrom        = 1 << 20 // smaller files harm nobody, however well compressed
)

func checkEntry(f *zip.File, limits Limits) error {
	if err := checkName(f.Name); err != nil {
		return err
	}
	isDir := strings.HasSuffix(f.Name, "/")
	switch mode := f.Mode(); {
	case mode&fs.ModeSymlink != 0:
		return problem(codeLink, f.Name, "is a symbolic link; an archive holds files and folders only")
	case mode.IsDir() != isDir || (!mode.IsDir() && !mode.IsRegular()):
		return problem(codeLink, f.Name, "is a special file; an archive holds files and folders only")
	case f.Flags&(flagEncrypted|flagStrong|flagMaskedHeader) != 0:
		return problem(codeEncrypted, f.Name, "is encrypted")
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return problem(codeMethod, f.Name, fmt.Sprintf("is compressed by method %d; stored and deflated files are read", f.Method))
	case isDir && f.UncompressedSize64 != 0:
		return problem(codeDamaged, f.Name, "is a folder with contents of its own")
	case f.UncompressedSize64 > uint64(limits.FileSize):
		return problem(codeFileSize, f.Name, fmt.Sprintf("unpacks to %d bytes; at most %d are read", f.UncompressedSize64, limits.FileSize))
	case f.UncompressedSize64 > ratioFrom && f.UncompressedSize64/uint64(limits.Ratio) > f.CompressedSize64:
		return problem(codeRatio, f.Name, fmt.Sprintf("is compressed more than %d to 1", limits.Ratio))
	}
	return nil
}

// Stat tells about a file without unpacking it.
func (t *zipTree) Stat(name string) (fs.FileInfo, error) { return fs.Stat(t.Reader, name) }

// ReadDir lists a folder, sorted.
func (t *zipTree) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(t.Reader, name) }

// Close has nothing to do: whoever opened the file closes it.
func (t *zipTree) Close() error { return nil }
