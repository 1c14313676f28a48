package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/toskose/toskose/tosca"
	"github.com/toskose/toskose/tosca/csar"
	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/diag/report"
)

// errInvalid ends a command whose report has said what is wrong.
var errInvalid = errors.New("the document is not valid")

// unopenedError says that there is nothing to read.
type unopenedError struct{ error }

func (e unopenedError) Unwrap() error { return e.error }

// document is a FILE that was read to be looked at.
type document struct {
	app  *tosca.Application // nil: the list says why
	list diag.List
	opts report.Options
	file *csar.Archive // nil: it is no archive
}

// read opens and loads a FILE as a draft. What is wrong inside is in the list;
// an error means that there was nothing to read. Close it.
func read(ctx context.Context, inputs *inputFlags, path string) (*document, error) {
	opts, err := inputs.options()
	if err != nil {
		return nil, err
	}
	opts.Draft = true
	d := &document{opts: report.Options{Subject: path, Title: tosca.Title, Version: version, Locate: locate(path, opts.InputFile)}}
	d.file, err = csar.Open(path)
	if err == nil {
		d.opts.Source = sources(d.file, opts.InputFile)
		d.app, d.list, err = tosca.Load(ctx, d.file, opts)
	}
	var bad diag.List
	switch {
	case err == nil:
		return d, nil
	case errors.As(err, &bad):
		if d.list == nil {
			d.list = bad
			d.list.Sort()
		}
		return d, nil
	default:
		d.Close()
		return nil, unopenedError{err}
	}
}

func (d *document) Close() {
	if d.file != nil {
		d.file.Close()
	}
}

// maxUnpacked bounds what is unpacked of an archive only to see that it can be.
const maxUnpacked = 256 << 20

// unpack adds what of an archive cannot be unpacked, whether the document names
// it or not.
func (d *document) unpack() {
	if d.file != nil {
		d.list = append(d.list, d.file.Damaged(maxUnpacked)...)
		d.list.Sort()
	}
}

// explain prints the diagnostics for people, and tells whether the document
// can be used.
func (d *document) explain(w io.Writer, colour bool) error {
	d.opts.Colour = colour
	if err := report.Text(w, d.list, d.opts); err != nil {
		return err
	}
	if d.list.HasErrors() {
		return errInvalid
	}
	return nil
}

// maxSource bounds a file of which lines are shown.
const maxSource = 32 << 20

// errSecret is why no line of a file of inputs is shown: a password may stand next
// to what is wrong.
var errSecret = errors.New("there are secrets in the file")

func sources(archive *csar.Archive, inputs *tosca.InputFile) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		if inputs != nil && name == inputs.Name {
			if inputs.HasSecrets() {
				return nil, errSecret
			}
			return inputs.Data, nil
		}
		return archive.ReadFile(name, maxSource)
	}
}

// locate gives the path of a file of the document at path. A file within a zip
// is below the zip's path, as if that were a folder.
func locate(path string, inputs *tosca.InputFile) func(string) (string, bool) {
	root := path
	if info, err := os.Stat(path); err == nil && !info.IsDir() && csar.IsYAML(path) {
		if link, err := os.Lstat(path); err == nil && link.Mode()&os.ModeSymlink != 0 {
			if real, err := filepath.EvalSymlinks(path); err == nil {
				path = real
			}
		}
		root = filepath.Dir(path)
	}
	return func(name string) (string, bool) {
		switch {
		case strings.HasPrefix(name, "--input "):
			return "", false
		case inputs != nil && name == inputs.Name:
			return filepath.ToSlash(name), true
		case name == filepath.Base(path): // the archive itself
			return filepath.ToSlash(path), true
		}
		return filepath.ToSlash(filepath.Join(root, filepath.FromSlash(name))), true
	}
}
