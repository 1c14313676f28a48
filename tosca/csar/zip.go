package csar

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode/utf8"
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
	text := make([]byte, 4<<10)
	n, err := r.ReadAt(text, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("cannot read the archive: %w", err)
	}
	text = text[:n]
	if bytes.HasPrefix(text, []byte("PK")) {
		return problem(codeDamaged, "", fmt.Sprintf("is a truncated or damaged zip (%s)", cause))
	}
	if bytes.Contains(text, []byte("tosca_definitions_version")) {
		return problem(codeNotArchive, "", "is neither a zip nor a tar (the name of a service template ends in .yaml or .yml)")
	}
	return problem(codeNotArchive, "", "is neither a zip nor a tar")
}

// The end record of a zip (APPNOTE 4.3.16), and the one that says more in a zip64
// (4.3.14).
const (
	endRecord     = "PK\x05\x06"
	endRecordSize = 22
	end64Record   = "PK\x06\x06"
	end64Size     = 56
)

// entryCount reads how many entries the end record claims, because
// archive/zip would make them all before anyone can refuse. The record is in
// the last 64 KiB, with a comment after it that may hold anything.
func entryCount(r io.ReaderAt, size int64) (uint64, error) {
	tail := make([]byte, min(size, 1<<16+endRecordSize+20+end64Size))
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	at := bytes.LastIndex(tail, []byte(endRecord))
	if at < 0 || at+endRecordSize > len(tail) {
		return 0, zip.ErrFormat
	}
	if comment := int(binary.LittleEndian.Uint16(tail[at+20:])); at+endRecordSize+comment > len(tail) {
		return 0, zip.ErrFormat
	}
	count := uint64(binary.LittleEndian.Uint16(tail[at+10:]))
	if count < 0xffff {
		return count, nil
	}
	if at = bytes.LastIndex(tail[:at], []byte(end64Record)); at >= 0 && at+end64Size <= len(tail) {
		count = max(count, binary.LittleEndian.Uint64(tail[at+32:]))
	}
	return count, nil
}

// maxReported bounds what is said of one archive: more helps nobody.
const maxReported = 100

// checkEntries reports everything that is wrong with the names and sizes.
func checkEntries(zr *zip.Reader, limits Limits) error {
	if len(zr.File) > limits.Entries {
		return problem(codeEntries, "", fmt.Sprintf("has %d entries; at most %d are read", len(zr.File), limits.Entries))
	}
	var bad problems
	seen, total := newNames(), uint64(0)
	for _, f := range zr.File {
		if f.Flags&flagUTF8 == 0 && !utf8.ValidString(f.Name) {
			f.Name = fromCP437(f.Name)
		}
		if bad.add(checkEntry(f, limits)) {
			continue
		}
		bad.add(seen.add(strings.TrimSuffix(f.Name, "/"), strings.HasSuffix(f.Name, "/")))
		total += f.UncompressedSize64
	}
	if total > uint64(limits.Total) {
		bad.add(problem(codeTotal, "", fmt.Sprintf("unpacks to more than %d bytes", limits.Total)))
	}
	return bad.err()
}

const (
	flagEncrypted    = 1 << 0
	flagStrong       = 1 << 6
	flagUTF8         = 1 << 11
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
