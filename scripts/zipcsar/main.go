// Command zipcsar zips a folder as a CSAR. Its output is reproducible: entries are sorted and
// uncompressed, with a fixed time, and their modes contain only the owner's execute permission.
package main

import (
	"archive/zip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: zipcsar FOLDER FILE")
		os.Exit(2)
	}
	if err := write(os.Args[2], os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "zipcsar: %v\n", err)
		os.Exit(1)
	}
}

// write writes the file atomically.
func write(path, folder string) error {
	out, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	archive := zip.NewWriter(out)
	err = add(archive, os.DirFS(folder))
	err = errors.Join(err, archive.Close(), out.Chmod(0o644), out.Close())
	if err == nil {
		err = os.Rename(out.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("cannot zip %q: %w", folder, err), os.Remove(out.Name()))
	}
	return nil
}

// add adds the files of a tree, sorted by name, except those whose names start with a dot.
func add(archive *zip.Writer, tree fs.FS) error {
	return fs.WalkDir(tree, ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != "." && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return nil
		}
		return addFile(archive, tree, path)
	})
}

func addFile(archive *zip.Writer, tree fs.FS, path string) error {
	info, err := fs.Stat(tree, path)
	if err != nil {
		return err
	}
	header := &zip.FileHeader{Name: path, Method: zip.Store, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)}
	header.SetMode(0o644)
	if info.Mode()&0o100 != 0 {
		header.SetMode(0o755)
	}
	file, err := archive.CreateHeader(header)
	if err != nil {
		return err
	}
	data, err := fs.ReadFile(tree, path)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return err
}
