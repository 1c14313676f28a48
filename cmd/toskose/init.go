package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toskose/toskose/cmd/toskose/cli"
)

//go:embed application
var application embed.FS

const initHelp = `Write a small application to begin with: a container with two components, the
scripts of their operations, and comments. It packages and runs as it is.

DIR must be empty or not exist. Its name becomes that of the application.`

func newInit(env environment, engine *engineFlags) *cobra.Command {
	return &cobra.Command{
		Use:                   "init DIR",
		Short:                 "Write a small application to begin with",
		Long:                  initHelp,
		Example:               "  toskose init shop",
		Args:                  cli.Args(1, 1),
		DisableFlagsInUseLine: true,
		RunE: func(_ *cobra.Command, args []string) error {
			dir := args[0]
			files, err := fs.Sub(application, "application")
			if err != nil {
				return err
			}
			name, err := applicationName(dir)
			if err != nil {
				return err
			}
			if err := initialise(dir, name, files); err != nil {
				return fmt.Errorf("cannot make an application in %q: %w", dir, err)
			}
			out := engine.progress(env)
			fmt.Fprintf(out, "%s is an application, described by %s; %s configures how it is packaged.\n", dir, filepath.Join(dir, "app.yaml"), filepath.Join(dir, settingsName))
			fmt.Fprintf(out, "\nNext:\n  toskose validate %s\n  toskose package %s\n  toskose deploy --up %s-toskosed\n", cli.Word(dir), cli.Word(dir), name)
			return nil
		},
	}
}

// applicationName returns the name of a folder as images and hosts may be called.
func applicationName(dir string) (string, error) {
	full, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	name := regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(filepath.Base(full)), "-")
	if name = strings.Trim(name, "-"); name == "" {
		return "application", nil
	}
	return name, nil
}

// initialise writes the files of an application to a folder that is empty or does not exist. If it
// fails, it removes everything that it created.
func initialise(dir, name string, files fs.FS) (err error) {
	made, err := makeEmpty(dir)
	if err != nil {
		return err
	}
	var written []string // files and folders, in the order they were made
	defer func() {
		if err == nil {
			return
		}
		for i := len(written) - 1; i >= 0; i-- {
			err = errors.Join(err, os.Remove(written[i]))
		}
		if made {
			err = errors.Join(err, os.Remove(dir))
		}
	}()
	return fs.WalkDir(files, ".", func(file string, d fs.DirEntry, err error) error {
		at := filepath.Join(dir, filepath.FromSlash(file))
		switch {
		case err != nil || file == ".":
			return err
		case d.IsDir():
			err = os.Mkdir(at, 0o755) //nolint:gosec // as readable as the umask allows
		default:
			err = writeNew(at, name, file, files)
		}
		if err == nil {
			written = append(written, at)
		}
		return err
	})
}

// makeEmpty makes a folder, or makes sure that it is empty. It reports whether it
// was made.
func makeEmpty(dir string) (made bool, err error) {
	if err = os.Mkdir(dir, 0o755); err == nil { //nolint:gosec // as above
		return true, nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return false, err
	}
	folder, err := os.Open(dir)
	if err != nil {
		return false, err
	}
	defer folder.Close()
	switch _, err := folder.Readdirnames(1); {
	case err == nil:
		return false, errors.New("the folder is not empty")
	case !errors.Is(err, io.EOF):
		return false, err
	}
	return false, nil
}

// writeNew writes a file that does not exist yet, with the application's name.
func writeNew(at, name, file string, files fs.FS) error {
	data, err := fs.ReadFile(files, file)
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	switch path.Ext(file) {
	case ".sh":
		mode = 0o755
	case ".yaml":
		for _, before := range []string{`template_name: "`, "title: Hello from "} {
			data = bytes.ReplaceAll(data, []byte(before+"application"), []byte(before+name))
		}
	}
	f, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if _, err = f.Write(data); err != nil {
		return errors.Join(err, f.Close(), os.Remove(at))
	}
	if err = f.Close(); err != nil {
		return errors.Join(err, os.Remove(at))
	}
	return nil
}
