package main

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
)

// goarch returns the architecture that images are built for without an engine.
func goarch() string { return runtime.GOARCH }

// archive writes a zip archive.
func archive(path string, fill func(*zip.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	zw := zip.NewWriter(f)
	return errors.Join(fill(zw), zw.Close(), f.Close())
}

// add adds an uncompressed file.
func add(zw *zip.Writer, name string, r io.Reader) error {
	w, err := zw.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return err
}

// addTree adds all files of a folder, with changed contents.
func addTree(zw *zip.Writer, from fs.FS, change func(name string, data []byte) []byte) error {
	return fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		return add(zw, name, bytes.NewReader(change(name, data)))
	})
}
