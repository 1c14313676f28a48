package access

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/toskose/toskose/manager/users"
)

// store has the users as the files have them. It reads the files whenever it is
// asked, which takes microseconds: their times do not tell all changes, and a user
// who was removed is gone at once.
type store struct {
	opts    Options
	salt    []byte
	changed func(users.List)

	mu             sync.Mutex
	password, file []byte // as they were read last
	first          users.User
	list           users.List
	problem        string // what was wrong the last time; it is said once
}

// current returns the users. If the files cannot be used, they are those of before:
// somebody may be writing.
func (s *store) current() users.List {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.refresh()
	switch {
	case err == nil:
		s.problem = ""
	case err.Error() != s.problem:
		s.problem = err.Error()
		s.opts.Logger.Error("users have changed, but cannot be used; those of before stay", "error", err)
	}
	return s.list
}

// read reads the files for the first time.
func (s *store) read() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refresh()
}

func (s *store) refresh() error {
	password, err := s.opts.Password()
	if err != nil {
		return fmt.Errorf("cannot read the password of %q: %w", s.opts.First, err)
	}
	var file []byte
	if s.opts.Users != nil {
		if file, err = s.opts.Users(); err != nil {
			return fmt.Errorf("cannot read the users: %w", err)
		}
	}
	if s.first.Name != "" && bytes.Equal(password, s.password) && bytes.Equal(file, s.file) {
		return nil
	}
	first := s.first
	if first.Name == "" || !bytes.Equal(password, s.password) {
		if first, err = s.firstUser(string(password)); err != nil {
			return err
		}
	}
	var list users.List
	if s.opts.Users != nil { // empty is somebody who writes
		if list, err = users.Parse(file); err != nil {
			return fmt.Errorf("cannot use the file of users: %w", err)
		}
	}
	if _, twice := list.Find(first.Name); twice {
		return fmt.Errorf("cannot use the file of users: it has %q, who is the manager's own user", first.Name)
	}
	again := s.list.Users != nil
	s.password, s.file, s.first, s.list = password, file, first, list.With(first)
	if again {
		s.opts.Logger.Info("users have changed", "users", len(s.list.Users))
		s.changed(s.list)
	}
	return nil
}

// firstUser hashes the password with a salt that stays, so that tokens stay good when
// the manager starts again, and end when the password changes.
func (s *store) firstUser(password string) (users.User, error) {
	password = strings.TrimRight(password, "\r\n")
	if password == "" {
		return users.User{}, errors.New("the password of the manager's own user is empty")
	}
	return users.User{Name: s.opts.First, Role: users.Admin, Password: users.HashWith(password, s.salt)}, nil
}
