package user

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/toskose/toskose/internal/filelock"
	"github.com/toskose/toskose/manager/users"
	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/kubernetes"
	"github.com/toskose/toskose/packager/output"
)

// place is the location of the users: the folder of an application, or a file managed elsewhere as
// a secret.
type place struct{ dir, file string }

func (p *place) path() string {
	if p.file != "" {
		return p.file
	}
	return output.UsersFile(p.dir)
}

// first is the user that toskose.yml names; empty where that is not known.
func (p *place) first() string {
	if p.file != "" {
		return ""
	}
	info, err := compose.ReadInfo(p.dir)
	if err != nil {
		cluster, _ := kubernetes.ReadInfo(p.dir)
		info = cluster.Info
	}
	return info.Manager.User
}

func (p *place) read() (users.List, error) {
	data, err := os.ReadFile(p.path())
	if errors.Is(err, fs.ErrNotExist) && p.file != "" {
		return users.List{}, nil
	}
	if err != nil {
		return users.List{}, p.unread(err)
	}
	return p.parse(data)
}

func (p *place) unread(err error) error {
	if errors.Is(err, fs.ErrNotExist) && p.file == "" {
		return fmt.Errorf("no application with a file of users is in %q (%w): name its folder by --dir, "+
			"package it again if an earlier version did, or name a file by --file if its secrets are external", p.dir, err)
	}
	return fmt.Errorf("cannot read the users: %w", err)
}

// parse reads the file. One of the user's own that is empty has just been made.
func (p *place) parse(data []byte) (users.List, error) {
	if len(data) == 0 && p.file != "" {
		return users.List{}, nil
	}
	l, err := users.Parse(data)
	if err != nil {
		return users.List{}, fmt.Errorf("%s: %w", p.path(), err)
	}
	return l, nil
}

// change changes the users and prints how the change takes effect. Concurrent changes wait.
func (s *session) change(how func(*users.List) error) (err error) {
	f, err := s.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }() // which gives up the lock
	if err := filelock.Lock(f); err != nil {
		return fmt.Errorf("cannot lock the users: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(f, users.MaxFile+1))
	if err != nil {
		return fmt.Errorf("cannot read the users: %w", err)
	}
	l, err := s.parse(data)
	if err != nil {
		return err
	}
	if err := how(&l); err != nil {
		return err
	}
	if first := s.first(); first != "" {
		if _, found := l.Find(first); found {
			return fmt.Errorf("%q is the manager's own user, whose password is in %s", first, output.SecretsDir)
		}
	}
	if data, err = l.Encode(); err != nil {
		return err
	}
	if err := overwrite(f, data); err != nil {
		return fmt.Errorf("cannot write the users: %w", err)
	}
	if s.file == "" {
		if err := s.refresh(); err != nil {
			return fmt.Errorf("the users are changed, but containers do not see it before the next deployment: %w", err)
		}
		s.say("With Compose the change applies at once. On a Swarm: package the application again, then `toskose deploy`. On Kubernetes: `toskose deploy`.")
	}
	return nil
}

// refresh has the manager on a single engine see the folder's users.
func (s *session) refresh() error {
	info, err := compose.ReadInfo(s.dir)
	if err != nil || s.mounted == "" {
		return nil //nolint:nilerr // it is not for an engine
	}
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return err
	}
	return compose.RefreshMounted(s.mounted, info.App, dir)
}

// open opens the file to be changed. One of the user's own is made.
func (p *place) open() (*os.File, error) {
	mode := os.O_RDWR
	if p.file != "" {
		mode |= os.O_CREATE
	}
	f, err := os.OpenFile(p.path(), mode, 0o600) // an existing file keeps its mode
	if err != nil {
		return nil, p.unread(err)
	}
	return f, nil
}

// overwrite changes a file in its place. A new one in its place would not be seen by a
// container that has it mounted. The manager takes no notice of half of it.
func overwrite(f *os.File, data []byte) error {
	_, err := f.WriteAt(data, 0)
	if err == nil {
		err = f.Truncate(int64(len(data)))
	}
	if err == nil {
		err = f.Sync()
	}
	return err
}
