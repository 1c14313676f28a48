package access

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/toskose/toskose/manager/users"
	"github.com/toskose/toskose/unit/wire"
)

// store holds the users. It reads their files at every request, which takes microseconds: modification times do
// not reveal every change, and a removed user must lose access at once.
type store struct {
	opts    Options
	changed func(now generations, key bool) // key: the signing key has changed

	mu                  sync.Mutex
	password, file, key []byte       // as last read
	first               []users.User // with each of their passwords
	all                 generations
	signer              users.Signer
	problem             string // the last problem, to log it only once
}

// generations holds the list of users once per password of the first user. There are two while that password is
// being rotated.
type generations []users.List

// find returns a user once per generation; the zero User if there is none of that name.
func (g generations) find(name string) []users.User {
	u, _ := g[0].Find(name)
	all := []users.User{u}
	for _, list := range g[1:] {
		if other, _ := list.Find(name); other != u {
			all = append(all, other)
		}
	}
	return all
}

// as returns the user behind a caller, unless the user has changed.
func (g generations) as(c Caller) (users.User, bool) {
	all := g.find(c.Name)
	i := slices.IndexFunc(all, func(u users.User) bool { return u.Mark() == c.mark })
	if i < 0 {
		return users.User{}, false
	}
	return all[i], true
}

// current returns the users. If the files cannot be used, it returns the previous users: another program may be
// writing the files.
func (s *store) current() generations {
	all, _ := s.signed()
	return all
}

// signed returns the users and the signer of their tokens.
func (s *store) signed() (generations, users.Signer) {
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
	return s.all, s.signer
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
	same := s.first != nil && bytes.Equal(password, s.password) && bytes.Equal(file, s.file)
	otherKey := !bytes.Equal(key, s.key)
	if same && !otherKey {
		return nil
	}
	first, all := s.first, s.all
	if !same {
		if first, all, err = s.parse(password, file); err != nil {
			return err
		}
	}
	again := s.all != nil
	s.password, s.file, s.first, s.all = password, file, first, all
	if otherKey {
		s.key, s.signer = key, users.NewSigner(key)
	}
	if again {
		s.opts.Logger.Info("users or the secret key have changed", "users", len(s.all[0].Users), "passwords", len(s.first), "key", otherKey)
		s.changed(s.all, otherKey)
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
	keys := wire.Passwords(key)
	if len(keys) == 0 { // it is being written
		return nil, nil, nil, errors.New("the secret key is empty")
	}
	return password, file, []byte(keys[0]), nil // the other keys only verify documents
}

// parse returns the first user, and all users.
func (s *store) parse(password, file []byte) (first []users.User, all generations, err error) {
	if first = s.first; first == nil || !bytes.Equal(password, s.password) {
		if first, err = s.firstUser(password); err != nil {
			return nil, nil, err
		}
	}
	var list users.List
	if s.opts.Users != nil { // an empty file is being written
		if list, err = users.Parse(file); err != nil {
			return nil, nil, fmt.Errorf("cannot use the file of users: %w", err)
		}
	}
	if _, twice := list.Find(s.opts.First); twice {
		return nil, nil, fmt.Errorf("cannot use the file of users: it has %q, who is the manager's own user", s.opts.First)
	}
	for _, u := range first {
		all = append(all, list.With(u))
	}
	return first, all, nil
}

// firstUser hashes the passwords with a stable salt, so that tokens survive a restart of the manager and expire
// when the password changes. Like the password, the hash never leaves the process.
func (s *store) firstUser(file []byte) ([]users.User, error) {
	salt := sha256.Sum256([]byte("toskose: salt of the first user's password: " + s.opts.First))
	var all []users.User
	for _, password := range wire.Passwords(file) {
		all = append(all, users.User{Name: s.opts.First, Role: users.Admin, Password: users.HashWith(password, salt[:])})
	}
	if len(all) == 0 {
		return nil, errors.New("the password of the manager's own user is empty")
	}
	return all, nil
}
