package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/tosca"
	"github.com/toskose/toskose/tosca/csar"
	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/diag/report"
)

// errInvalid ends a command that has already reported the problems of a document.
var errInvalid = errors.New("the document is not valid")

// document is a FILE that a command inspects.
type document struct {
	app  *spec.Application // nil if it is invalid; list says why
	list diag.List
	opts report.Options
	file *csar.Archive // nil if it is not an archive
	conf configFile
}

// Whether a document is checked with the secrets that the user gave, or its model
// printed, which has none of them.
const (
	withSecrets    = true
	withoutSecrets = false
)

// read opens and loads a FILE as a draft, as configurations want it. Problems in it are
// in the list; an error means that it cannot be opened. The caller closes the document.
func read(ctx context.Context, inputs *inputFlags, path string, secrets bool, configs ...string) (*document, error) {
	opts, err := inputs.options()
	if err != nil {
		return nil, err
	}
	opts.Draft, opts.Withhold = true, !secrets
	conf := readConfig(configs)
	conf.apply(&opts)
	d := &document{conf: conf, opts: report.Options{Subject: path, Title: tosca.Title, Version: built().version, Locate: locate(path, opts.InputFile), Name: fileNames(path, opts.InputFile)}}
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
		return nil, cli.Unopened(err)
	}
}

func (d *document) Close() {
	if d.file != nil {
		d.file.Close()
	}
}

// maxUnpacked bounds how much of an archive is unpacked only to check it.
const maxUnpacked = 256 << 20

// unpack adds a diagnostic for each file of the archive that cannot be unpacked,
// even if the document does not use it.
func (d *document) unpack() {
	if d.file != nil {
		d.list = append(d.list, d.file.Damaged(maxUnpacked)...)
		d.list.Sort()
	}
}

// explain prints the diagnostics as text, and returns errInvalid if the document cannot be used.
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

// errSecret is why no line of a file of inputs is shown: a password may be on the
// same line as the mistake.
var errSecret = errors.New("the file contains secrets")

func sources(archive *csar.Archive, inputs *tosca.InputFile) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		if inputs != nil && name == inputs.Name {
			if inputs.HasSecrets() {
				return nil, errSecret
			}
			return inputs.Data, nil
		}
		return archive.ReadFile(name, cli.MaxFile)
	}
}

// locate returns a function that returns the path of a file of the document at
// path. A file in a zip is below the zip's path, as if the zip were a folder.
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
