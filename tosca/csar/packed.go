package csar

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// tarTree is a tar with checked entries (TOSCA 2.0, 17.1.1.1). It reads files where they
// are in the tar.
type tarTree struct {
	from    io.ReaderAt
	entries map[string]*tarEntry // by path; the root is "."
}

// tarEntry is a file, with the offset of its content, or a folder.
type tarEntry struct {
	fs.FileInfo
	at    int64
	files []fs.DirEntry // of a folder, sorted
}

// maxUnpacked bounds a compressed tar, which is unpacked in memory for random access.
const maxUnpacked = 256 << 20

func readCompressedTar(r io.ReaderAt, size int64, limits Limits) (tree, error) {
	damaged := func(err error) error {
		return problem(codeDamaged, "", fmt.Sprintf("is a truncated or damaged compressed tar (%s)", err))
	}
	zr, err := gzip.NewReader(io.NewSectionReader(r, 0, size))
	if err != nil {
		return nil, damaged(err)
	}
	limits.Total = min(limits.Total, maxUnpacked)
	most := limits.Total
	if size < most/limits.Ratio {
		most = max(size*limits.Ratio, ratioFrom)
	}
	var unpacked bytes.Buffer
	if _, err := io.Copy(&unpacked, io.LimitReader(zr, most+1)); err != nil {
		return nil, damaged(err)
	}
	switch {
	case int64(unpacked.Len()) > most && most < limits.Total:
		return nil, problem(codeRatio, "", fmt.Sprintf("is compressed more than %d to 1", limits.Ratio))
	case int64(unpacked.Len()) > most:
		return nil, problem(codeTotal, "", fmt.Sprintf("unpacks to more than %d bytes", most))
	}
	return readTar(bytes.NewReader(unpacked.Bytes()), int64(unpacked.Len()), limits)
}

func readTar(r io.ReaderAt, size int64, limits Limits) (tree, error) {
	t := &tarTree{from: r, entries: map[string]*tarEntry{}}
	t.entries["."] = &tarEntry{FileInfo: tarFolder(".")}
	in := io.NewSectionReader(r, 0, size)
	tr, seen, total := tar.NewReader(in), newNames(), int64(0)
	for {
		h, err := tr.Next()
		switch {
		case errors.Is(err, io.EOF):
			t.sort()
			return t, nil
		case err != nil:
			return nil, problem(codeDamaged, "", fmt.Sprintf("is a truncated or damaged tar (%s)", err))
		}
		name := strings.TrimSuffix(strings.TrimPrefix(h.Name, "./"), "/")
		if name == "" || h.Typeflag == tar.TypeXGlobalHeader { // the root, or headers of all entries
			continue
		}
		if err := checkTarEntry(h, name, limits); err != nil {
			return nil, err
		}
		isDir := h.Typeflag == tar.TypeDir
		if err := seen.add(name, isDir); err != nil {
			return nil, err
		}
		if total += h.Size; total > limits.Total {
			return nil, problem(codeTotal, "", fmt.Sprintf("unpacks to more than %d bytes", limits.Total))
		}
		if at, err := in.Seek(0, io.SeekCurrent); err != nil {
			return nil, fmt.Errorf("cannot read the archive: %w", err)
		} else if isDir {
			t.folder(name)
		} else {
			t.add(name, &tarEntry{FileInfo: h.FileInfo(), at: at})
		}
		if len(t.entries)-1 > limits.Entries { // with implied folders, without the root
			return nil, problem(codeEntries, "", fmt.Sprintf("has more than %d files and folders", limits.Entries))
		}
	}
}

func checkTarEntry(h *tar.Header, name string, limits Limits) error {
	if err := checkName(name); err != nil {
		return err
	}
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return problem(codeMethod, name, "is stored without its empty parts; whole files are read")
		}
	}
	switch {
	case h.Typeflag == tar.TypeSymlink:
		return problem(codeLink, name, "is a symbolic link; an archive holds files and folders only")
	case h.Typeflag == tar.TypeGNUSparse:
		return problem(codeMethod, name, "is stored without its empty parts; whole files are read")
	case h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeDir:
		return problem(codeLink, name, "is a link or special file; an archive holds files and folders only")
	case h.Typeflag == tar.TypeDir && h.Size != 0:
		return problem(codeDamaged, name, "is a folder with contents of its own")
	case h.Size > limits.FileSize:
		return problem(codeFileSize, name, fmt.Sprintf("unpacks to %d bytes; at most %d are read", h.Size, limits.FileSize))
	}
	return nil
}

// add adds an entry to its folder.
func (t *tarTree) add(name string, e *tarEntry) {
	t.entries[name] = e
	in := t.folder(path.Dir(name))
	in.files = append(in.files, fs.FileInfoToDirEntry(e.FileInfo))
}

// folder returns a folder, and creates implied folders.
func (t *tarTree) folder(name string) *tarEntry {
	if e := t.entries[name]; e != nil {
		return e
	}
	e := &tarEntry{FileInfo: tarFolder(path.Base(name))}
	t.add(name, e)
	return e
}

func (t *tarTree) sort() {
	for _, e := range t.entries {
		slices.SortFunc(e.files, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	}
}

func (t *tarTree) find(op, name string) (*tarEntry, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	e := t.entries[name]
	if e == nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return e, nil
}

// Stat returns the information of a file.
func (t *tarTree) Stat(name string) (fs.FileInfo, error) {
	e, err := t.find("stat", name)
	if err != nil {
		return nil, err
	}
	return e.FileInfo, nil
}

// ReadDir lists a folder, sorted.
func (t *tarTree) ReadDir(name string) ([]fs.DirEntry, error) {
	e, err := t.find("readdir", name)
	if err != nil {
		return nil, err
	}
	if !e.IsDir() {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errors.New("not a folder")}
	}
	return slices.Clone(e.files), nil
}

// Open opens a file or folder.
func (t *tarTree) Open(name string) (fs.File, error) {
	e, err := t.find("open", name)
	if err != nil {
		return nil, err
	}
	f := &tarFile{Reader: io.NewSectionReader(t.from, e.at, e.Size()), info: e.FileInfo}
	if !e.IsDir() {
		return f, nil
	}
	return &folder{File: f, list: func() ([]fs.DirEntry, error) { return t.ReadDir(name) }}, nil
}

// Close does nothing; the caller closes the file.
func (t *tarTree) Close() error { return nil }

type tarFile struct {
	io.Reader
	info fs.FileInfo
}

func (f *tarFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *tarFile) Close() error               { return nil }

func (f *tarFile) Read(p []byte) (int, error) {
	if f.info.IsDir() {
		return 0, &fs.PathError{Op: "read", Path: f.info.Name(), Err: errors.New("it is a folder")}
	}
	return f.Reader.Read(p)
}

// tarFolder is a folder with its name.
type tarFolder string

// Name, Size, Mode, ModTime, IsDir and Sys make it a fs.FileInfo.
func (d tarFolder) Name() string     { return string(d) }
func (tarFolder) Size() int64        { return 0 }
func (tarFolder) Mode() fs.FileMode  { return fs.ModeDir | 0o755 }
func (tarFolder) ModTime() time.Time { return time.Time{} }
func (tarFolder) IsDir() bool        { return true }
func (tarFolder) Sys() any           { return nil }

// zipTree is a zip whose names have been checked.
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

// notZip distinguishes a damaged zip from other files.
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
	if bytes.HasPrefix(text, []byte("<")) {
		return problem(codeNotArchive, "", "is XML: service templates in XML, of TOSCA 1.0, are not read")
	}
	return problem(codeNotArchive, "", "is neither a zip nor a tar")
}

// The signatures of the end record of a zip (APPNOTE 4.3.16), and of zip64 (4.3.14).
const (
	endRecord     = "PK\x05\x06"
	endRecordSize = 22
	end64Record   = "PK\x06\x06"
	end64Size     = 56
)

// entryCount returns the number of entries in the end record, as archive/zip allocates
// all entries before they can be counted. The record is in the last 64 KiB, before a
// comment with any content.
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

// maxReported bounds the number of problems reported for an archive.
const maxReported = 100

// checkEntries reports all problems with names and sizes.
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
	ratioFrom        = 1 << 20 // the ratio of smaller files is harmless
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

// Stat returns the information of a file.
func (t *zipTree) Stat(name string) (fs.FileInfo, error) { return fs.Stat(t.Reader, name) }

// ReadDir lists a folder, sorted.
func (t *zipTree) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(t.Reader, name) }

// Close does nothing; the caller closes the file.
func (t *zipTree) Close() error { return nil }
