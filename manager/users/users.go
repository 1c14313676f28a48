// Package users manages the users of a manager: the file of users with their roles and hashed passwords, and the
// tokens that they receive for an hour. It reads no files and starts no goroutine.
package users

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// MaxFile is the maximum size of a file of users.
const MaxFile = 1 << 20

// User is one entry of the file.
type User struct {
	Name     string `json:"name"`
	Role     Role   `json:"role"`
	Password string `json:"password"` // its hash
	// Generation changes with every change of the user, so that older tokens stay invalid even if the change is
	// reverted.
	Generation string `json:"generation"`
}

// Mark returns a digest of the user's state.
func (u User) Mark() [sha256.Size]byte {
	text, _ := json.Marshal(u) // strings always encode
	return sha256.Sum256(text)
}

// List is the users of a file, by name.
type List struct {
	Users []User `json:"users"`
}

// The errors of changes.
var (
	ErrExists  = errors.New("there is already a user")
	ErrUnknown = errors.New("there is no user")
)

// nameForm excludes ":", which ends the name in Basic authentication, and characters that are ambiguous in a log.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$`)

// CheckName returns an error for an invalid user name.
func CheckName(name string) error {
	if !nameForm.MatchString(name) {
		return fmt.Errorf("%q cannot be the name of a user: at most 64 letters, digits, '.', '_', '@', '+' and '-', and first a letter or a digit", name)
	}
	return nil
}

// Parse parses a file. It reports all errors at once; none contains a hash.
func Parse(data []byte) (List, error) {
	var l List
	if len(data) > MaxFile {
		return l, fmt.Errorf("it has more than %d bytes", MaxFile)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&l); err != nil {
		return List{}, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return List{}, errors.New("it goes on after the JSON object")
	}
	var problems []error
	seen := map[string]bool{}
	for _, u := range l.Users {
		if err := u.check(); err != nil {
			problems = append(problems, fmt.Errorf("user %q: %w", u.Name, err))
		}
		if seen[u.Name] {
			problems = append(problems, fmt.Errorf("user %q: is there twice", u.Name))
		}
		seen[u.Name] = true
	}
	if len(problems) > 0 {
		return List{}, errors.Join(problems...)
	}
	l.sort()
	return l, nil
}

func (u User) check() error {
	_, role := ParseRole(string(u.Role))
	_, _, _, hash := parseHash(u.Password)
	return errors.Join(CheckName(u.Name), role, hash)
}

func (l *List) sort() {
	slices.SortFunc(l.Users, func(a, b User) int { return strings.Compare(a.Name, b.Name) })
}

// Encode returns the file.
func (l List) Encode() ([]byte, error) {
	if l.Users == nil {
		l.Users = []User{}
	}
	data, err := json.MarshalIndent(l, "", "  ")
	return append(data, '\n'), err
}

// Find returns the user of a name, or the zero User.
func (l List) Find(name string) (User, bool) {
	i, found := slices.BinarySearchFunc(l.Users, name, func(u User, name string) int { return strings.Compare(u.Name, name) })
	if !found {
		return User{}, false
	}
	return l.Users[i], true
}

// With returns a copy of the list with another user.
func (l List) With(u User) List {
	more := List{append(slices.Clone(l.Users), u)}
	more.sort()
	return more
}

// Add adds a user.
func (l *List) Add(name string, role Role, password string) error {
	if _, found := l.Find(name); found {
		return fmt.Errorf("%w %q", ErrExists, name)
	}
	if err := errors.Join(CheckName(name), checkPassword(password)); err != nil {
		return err
	}
	l.Users = append(l.Users, User{Name: name, Role: role, Password: Hash(password), Generation: rand.Text()})
	l.sort()
	return nil
}

// SetPassword changes a user's password, and invalidates their tokens.
func (l *List) SetPassword(name, password string) error {
	if err := checkPassword(password); err != nil {
		return err
	}
	return l.change(name, func(u *User) { u.Password = Hash(password) })
}

// SetRole changes a user's role, and invalidates their tokens.
func (l *List) SetRole(name string, role Role) error {
	return l.change(name, func(u *User) { u.Role = role })
}

func (l *List) change(name string, how func(*User)) error {
	i := slices.IndexFunc(l.Users, func(u User) bool { return u.Name == name })
	if i < 0 {
		return fmt.Errorf("%w %q", ErrUnknown, name)
	}
	how(&l.Users[i])
	l.Users[i].Generation = rand.Text()
	return nil
}

// Remove removes a user.
func (l *List) Remove(name string) error {
	before := len(l.Users)
	l.Users = slices.DeleteFunc(l.Users, func(u User) bool { return u.Name == name })
	if len(l.Users) == before {
		return fmt.Errorf("%w %q", ErrUnknown, name)
	}
	return nil
}

func checkPassword(password string) error {
	if len(password) < MinPassword || len(password) > MaxPassword {
		return fmt.Errorf("a password has %d to %d bytes", MinPassword, MaxPassword)
	}
	return nil
}
