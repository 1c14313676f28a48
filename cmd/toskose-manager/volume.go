package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/toskose/toskose/packager/volumes/tree"
)

var errVolume = errors.New("it is `volume tar FOLDER` or `volume untar FOLDER`")

// volume writes what is in a folder as a tar stream, or replaces it by what one has. It is
// for `toskose volume`, which runs it in a container of its own.
func volume(args []string, in io.Reader, out io.Writer) error {
	if len(args) != 2 {
		return errVolume
	}
	var err error
	switch args[0] {
	case "tar":
		err = tree.Write(out, args[1])
	case "untar":
		err = tree.Replace(in, args[1])
	default:
		return errVolume
	}
	if err != nil {
		return fmt.Errorf("volume %s: %w", args[0], err)
	}
	return nil
}
