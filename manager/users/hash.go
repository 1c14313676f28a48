package users

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
)

// Lengths of passwords, in bytes. A longer password is rejected unchecked.
const (
	MinPassword = 8
	MaxPassword = 1024
)

// cost is the parameters of a hash: Argon2id, with the first recommendation of OWASP's Password Storage Cheat
// Sheet.
type cost struct {
	memory, passes uint32 // KiB, passes over it
	lanes          uint8
}

var standard = cost{memory: 19 << 10, passes: 2, lanes: 1}

// highest is the maximum cost that a file may specify: a login must not use all memory.
var highest = cost{memory: 64 << 10, passes: 10, lanes: 4}

const (
	saltLength = 16
	hashLength = 32
)

// hashForm is the PHC string format, which other programs support too.
const hashForm = "$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s"

// Hash returns a password's hash with a random salt.
func Hash(password string) string {
	salt := make([]byte, saltLength)
	_, _ = rand.Read(salt) // never fails
	return HashWith(password, salt)
}

// HashWith is Hash with a salt that the caller chose.
func HashWith(password string, salt []byte) string {
	c := standard
	sum := argon2.IDKey([]byte(password), salt, c.passes, c.memory, c.lanes, hashLength)
	return fmt.Sprintf(hashForm, argon2.Version, c.memory, c.passes, c.lanes,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(sum))
}

// nobody holds a hash that Verify uses for unknown users, so that they take as long.
var nobody = fmt.Sprintf(hashForm, argon2.Version, standard.memory, standard.passes, standard.lanes,
	base64.RawStdEncoding.EncodeToString(make([]byte, saltLength)), base64.RawStdEncoding.EncodeToString(make([]byte, hashLength)))

// Verify reports whether a password is the user's. It takes tens of milliseconds, as long for the zero User, for
// whom it always returns false.
func (u User) Verify(password string) bool {
	hash := u.Password
	if u.Name == "" {
		hash = nobody
	}
	c, salt, want, err := parseHash(hash)
	if err != nil || len(password) > MaxPassword {
		return false
	}
	got := argon2.IDKey([]byte(password), salt, c.passes, c.memory, c.lanes, uint32(len(want)))
	return subtle.ConstantTimeCompare(got, want) == 1 && u.Name != ""
}

var errHash = errors.New("the hash of the password is not one of Argon2id as `toskose user` writes it")

func parseHash(text string) (c cost, salt, hash []byte, err error) {
	parts := strings.Split(text, "$")
	var version int
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" {
		return c, nil, nil, errHash
	}
	if _, err := fmt.Sscanf(parts[2], "v=%d", &version); err != nil || version != argon2.Version {
		return c, nil, nil, errHash
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &c.memory, &c.passes, &c.lanes); err != nil {
		return c, nil, nil, errHash
	}
	salt, err1 := base64.RawStdEncoding.DecodeString(parts[4])
	hash, err2 := base64.RawStdEncoding.DecodeString(parts[5])
	switch {
	case err1 != nil || err2 != nil || len(salt) < 8 || len(salt) > 64 || len(hash) < 16 || len(hash) > 64:
		return c, nil, nil, errHash
	case c.memory < 8 || c.passes < 1 || c.lanes < 1:
		return c, nil, nil, errHash
	case c.memory > highest.memory || c.passes > highest.passes || c.lanes > highest.lanes:
		return c, nil, nil, fmt.Errorf("%w: it would take more than %d KiB, %d passes or %d lanes", errHash, highest.memory, highest.passes, highest.lanes)
	}
	return c, salt, hash, nil
}
