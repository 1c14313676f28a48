package contexts

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/toskose/toskose/cmd/toskose/cli"
	"github.com/toskose/toskose/packager/deploy/backend"
)

// Chosen is the manager that a command uses.
type Chosen struct {
	backend.Access
	Source  string // for display: a folder or a context
	Context string // the name of the context; empty: a folder
}

// NotFoundError reports why no manager could be chosen.
type NotFoundError struct{ err error }

func (e *NotFoundError) Error() string {
	return e.err.Error() + "; name the folder with --dir, or a context with --context"
}

func (e *NotFoundError) Unwrap() error { return e.err }

// Choose finds the manager to ask: of a folder or a context that is named, of the
// context that the environment names, of the working directory, or of the context that
// this session selected.
func Choose(environ []string, dir, name string) (Chosen, error) {
	if dir != "" && name != "" {
		return Chosen{}, cli.Misuse(errors.New("--dir and --context both say which manager to ask: give one"))
	}
	if dir != "" {
		return chosen(Context{Dir: dir}, fmt.Sprintf("the folder %q", dir))
	}
	store, err := Find(environ)
	if name = cmp.Or(name, variable(environ, "TOSKOSE_CONTEXT")); name == "" {
		here, notHere := chosen(Context{Dir: "."}, `the folder "."`)
		if notHere == nil {
			return here, nil
		}
		if err == nil {
			name, err = store.Current()
		}
		if err != nil {
			return Chosen{}, &NotFoundError{fmt.Errorf("%w, and %w", errors.Unwrap(notHere), err)}
		}
	}
	if err != nil {
		return Chosen{}, err
	}
	c, err := store.Get(name)
	if err != nil {
		return Chosen{}, err
	}
	found, err := chosen(c, fmt.Sprintf("context %q", name))
	found.Context = name
	return found, err
}

func chosen(c Context, source string) (Chosen, error) {
	at, err := c.Access()
	if err != nil {
		return Chosen{}, &NotFoundError{err}
	}
	return Chosen{Access: at, Source: source}, nil
}

// Deployed makes a context of an application that is deployed from a folder, and
// selects it.
func Deployed(environ []string, name, dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	store, err := Find(environ)
	if err == nil {
		err = store.Put(name, Context{Dir: dir})
	}
	if err == nil {
		err = store.Use(name)
	}
	return err
}

// DeployedFrom returns the folder that an application was deployed from, according to its context,
// or "" if it is unknown.
func DeployedFrom(environ []string, name string) string {
	store, err := Find(environ)
	if err != nil {
		return ""
	}
	c, err := store.Get(name)
	if err != nil {
		return ""
	}
	return c.Dir
}

// Undeployed removes the contexts of a folder whose application runs no longer.
func Undeployed(environ []string, dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	store, err := Find(environ)
	if err != nil {
		return err
	}
	names, err := store.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if c, err := store.Get(name); err == nil && c.Dir == dir {
			if err := store.Remove(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// Folder returns the folder of the application if no argument names one: the working directory, if
// it contains a packaged application, or the folder of the context that the environment names or
// that is in use.
func Folder(environ []string) (string, error) {
	if _, err := backend.AccessOf("."); err == nil {
		return ".", nil
	}
	store, err := Find(environ)
	name := variable(environ, "TOSKOSE_CONTEXT")
	if err == nil && name == "" {
		name, err = store.Current()
	}
	if err != nil {
		return "", fmt.Errorf("nothing was packaged in the working directory, and %w: name the folder", err)
	}
	c, err := store.Get(name)
	if err == nil && c.Dir == "" {
		err = fmt.Errorf("context %q has no folder: name it", name)
	}
	return c.Dir, err
}
