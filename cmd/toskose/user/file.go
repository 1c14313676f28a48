package user

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/toskose/toskose/manager/users"
	"github.com/toskose/toskose/packager/compose"
	"github.com/toskose/toskose/packager/kubernetes"
	"github.com/toskose/toskose/packager/output"
)

// place is where the users are: in the folder of an application, or in a file that is
// somebody else's secret.
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
	switch {
	case errors.Is(err, fs.ErrNotExist) && p.file != "":
		return users.List{}, nil
	case errors.Is(err, fs.ErrNotExist):
		return users.List{}, fmt.Errorf("there is no application with a file of users in %q (%w): name its folder by --dir, "+
			"package it again if an earlier version did, or name a file by --file if its secrets are external", p.dir, err)
	case err != nil:
		return users.List{}, fmt.Errorf("cannot read the users: %w", err)
	}
	l, err := users.Parse(data)
	if err != nil {
		return users.List{}, fmt.Errorf("%s: %w", p.path(), err)
	}
	return l, nil
}

// change changes the users, and says what makes it count.
func (s *session) change(how func(*users.List) error) error {
	l, err := s.read()
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
	data, err := l.Encode()
	if err != nil {
		return err
	}
	if err := overwrite(s.path(), data); err != nil {
		return fmt.Errorf("cannot write the users: %w", err)
	}
	if s.file == "" {
		s.say("With Compose it counts at once. On a Swarm: package the application again, then `toskose deploy`. On Kubernetes: `toskose deploy`.")
	}
	return nil
}

// overwrite changes a file in its place. A new one in its place would not be seen by a
// container that has it mounted. The manager takes no notice of half of it.
func overwrite(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600) // a file that is there keeps its mode
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, 0)
	if err == nil {
		err = f.Truncate(int64(len(data)))
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
