package main

import (
	"errors"
	"os"
	"slices"

	"github.com/toskose/toskose/tosca"
	"github.com/toskose/toskose/tosca/csar"
	"github.com/toskose/toskose/tosca/diag"
)

// fileNames returns the function that names the files of the document at path in messages: by paths that a terminal or an
// editor opens if the document is a folder or a service template, otherwise by their names in the archive.
func fileNames(path string, inputs *tosca.InputFile) func(string) string {
	located := locate(path, inputs)
	info, err := os.Stat(path)
	onDisk := err == nil && (info.IsDir() || csar.IsYAML(path))
	return func(name string) string {
		if where, ok := located(name); onDisk && ok {
			return where
		}
		return name
	}
}

// withNames returns diagnostics with other names of their files.
func withNames(list diag.List, name func(string) string) diag.List {
	list = slices.Clone(list)
	for i := range list {
		if list[i].File != "" {
			list[i].File = name(list[i].File)
		}
	}
	return list
}

// errorWithNames does the same for an error that is a list of diagnostics.
func errorWithNames(err error, name func(string) string) error {
	var list diag.List
	if errors.As(err, &list) {
		return withNames(list, name)
	}
	return err
}
