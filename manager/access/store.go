package access

import (
	"bytes"
	"crypto/sha256"
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
	changed func(now users.List, key bool) // key: what signs tokens has changed

	mu                  sync.Mutex
	password, file, key []byte // as they were read last
	first               users.User
	list                users.List
	signer              users.Signer
	problem             string // what was wrong the last time; it is said once
}

// current returns the users. If the files cannot be used, they are those of before:
// somebody may be writing.
func (s *store) current() users.List {
	list, _ := s.signed()
	return list
}

// signed returns the users and what signs their tokens.
func (s *store) signed() (users.List, users.Signer) {
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
	return s.list, s.signer
}

// read reads the files for the first time.
func (s *store) read() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refresh()
}

func (s *store) refresh() error {
	password, file, key, err := s.readFiles()
	if err != nil {
		return err
	}
	same := s.first.Name != "" && bytes.Equal(password, s.password) && bytes.Equal(file, s.file)
	otherKey := !bytes.Equal(key, s.key)
	if same && !otherKey {
		return nil
	}
	first, list := s.first, s.list
	if !same {
		if first, list, err = s.parse(password, file); err != nil {
			return err
		}
	}
	again := s.list.Users != nil
	s.password, s.file, s.first, s.list = password, file, first, list
	if otherKey {
		s.key, s.signer = key, users.NewSigner(key)
	}
	if again {
		s.opts.Logger.Info("users or the secret key have changed", "users", len(s.list.Users), "key", otherKey)
		s.changed(s.list, otherKey)
	}
	return nil
}

func (s *store) readFiles() (password, file, key []byte, err error) {
	if password, err = s.opts.Password(); err != nil {
		return nil, nil, nil, fmt.Errorf("cannot read the password of %q: %w", s.opts.First, err)
	}
	if s.opts.Users != nil {
		if file, err = s.opts.Users(); err != nil {
			return nil, nil, nil, fmt.Errorf("cannot read the users: %w", err)
		}
	}
	if key, err = s.opts.SecretKey(); err != nil {
		return nil, nil, nil, fmt.Errorf("cannot read the secret key: %w", err)
	}
	if key = bytes.TrimRight(key, "\r\n"); len(key) == 0 { // somebody who writes
		return nil, nil, nil, errors.New("the secret key is empty")
	}
	return password, file, key, nil
}

// parse returns the first user, and all users.
func (s *store) parse(password, file []byte) (first users.User, list users.List, err error) {
	if first = s.first; first.Name == "" || !bytes.Equal(password, s.password) {
		if first, err = s.firstUser(string(password)); err != nil {
			return first, list, err
		}
	}
	if s.opts.Users != nil { // empty is somebody who writes
		if list, err = users.Parse(file); err != nil {
			return first, list, fmt.Errorf("cannot use the file of users: %w", err)
		}
	}
	if _, twice := list.Find(first.Name); twice {
		return first, list, fmt.Errorf("cannot use the file of users: it has %q, who is the manager's own user", first.Name)
	}
	return first, list.With(first), nil
}

// firstUser hashes the password with a salt that stays, so that tokens stay good when
// the manager starts again, and end when the password changes. The hash leaves the
// process no more than the password does.
func (s *store) firstUser(password string) (users.User, error) {
	password = strings.TrimRight(password, "\r\n")
	if password == "" {
		return users.User{}, errors.New("the password of the manager's own user is empty")
	}
	salt := sha256.Sum256([]byte("toskose: salt of the first user's password: " + s.opts.First))
	return users.User{Name: s.opts.First, Role: users.Admin, Password: users.HashWith(password, salt[:])}, nil
}
