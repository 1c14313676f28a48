package rpc

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // {SHA} is Supervisor's format; nothing new is hashed with it
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/toskose/toskose/unit/wire"
)

// password is a password as a hash.
type password struct {
	hashed bool // configured as {SHA}
	sum    [sha256.Size]byte
}

func newPassword(text string) password {
	digest, hashed := strings.CutPrefix(text, "{SHA}")
	if hashed {
		text = strings.ToLower(digest)
	}
	return password{hashed, sha256.Sum256([]byte(text))}
}

// authenticator checks one user's passwords, which it keeps as hashes. It limits how often failed
// logins are logged, so that they cannot fill the log.
type authenticator struct {
	required bool
	user     [sha256.Size]byte
	fixed    []password // without any, no one is admitted

	// read reads a password file, which replaces fixed; nil without one.
	read        func() ([]byte, error)
	reading     sync.Mutex
	file        []byte // the last valid content
	ofFile      []password
	fileProblem string // what is wrong with the file; logged once

	logger   *slog.Logger
	now      func() time.Time
	mu       sync.Mutex
	lastLog  time.Time
	unlogged int
}

// refusalLogInterval is the minimum interval between log entries about failed logins.
const refusalLogInterval = time.Minute

func newAuthenticator(o Options) *authenticator {
	a := &authenticator{
		required: o.User != "" || o.Password != "" || o.PasswordFile != nil,
		user:     sha256.Sum256([]byte(o.User)),
		read:     o.PasswordFile,
		logger:   o.Logger,
		now:      o.Now,
	}
	switch {
	case a.read != nil:
		a.file, a.ofFile = []byte(o.Password), parsePasswords([]byte(o.Password))
	case o.Password != "" && o.Password != "{SHA}":
		a.fixed = []password{newPassword(o.Password)}
	}
	return a
}

func parsePasswords(file []byte) []password {
	var all []password
	for _, text := range wire.Passwords(file) {
		all = append(all, newPassword(text))
	}
	return all
}

// countPasswords reads the password file again and returns the number of its passwords, or 0 if
// there is no file or it cannot be read.
func (a *authenticator) countPasswords() int {
	if a.read == nil {
		return 0
	}
	all := a.passwords()
	a.reading.Lock()
	defer a.reading.Unlock()
	if a.fileProblem != "" {
		return 0
	}
	return len(all)
}

// passwords returns the accepted passwords. The file is read for every request, which takes
// microseconds, because its modification time does not show every change. While the file is
// invalid, for example because it is being written, the previous passwords stay valid.
func (a *authenticator) passwords() []password {
	if a.read == nil {
		return a.fixed
	}
	a.reading.Lock()
	defer a.reading.Unlock()
	file, err := a.read()
	if err == nil && bytes.Equal(file, a.file) {
		a.fileProblem = ""
		return a.ofFile
	}
	now := parsePasswords(file)
	if err == nil && len(now) == 0 {
		err = errors.New("it is empty")
	}
	if err != nil {
		if a.fileProblem != err.Error() {
			a.fileProblem = err.Error()
			a.logger.Error("cannot use the password file; the previous passwords stay valid", "error", err)
		}
		return a.ofFile
	}
	a.logger.Info("the password file has changed", "passwords", len(now))
	a.file, a.ofFile, a.fileProblem = file, now, ""
	return now
}

// admits reports whether the request is authorized. It compares all hashes, so that its duration
// does not depend on the given name and password.
func (a *authenticator) admits(r *http.Request) bool {
	if !a.required {
		return true
	}
	user, given, ok := r.BasicAuth()
	userSum := sha256.Sum256([]byte(user))
	same := 0
	for _, right := range a.passwords() {
		same |= right.matches(given)
	}
	if ok && same&subtle.ConstantTimeCompare(userSum[:], a.user[:]) == 1 {
		return true
	}
	a.logRefusal(r, ok)
	return false
}

// matches returns 1 if text is the password, and otherwise 0.
func (p password) matches(text string) int {
	if p.hashed {
		sum := sha1.Sum([]byte(text)) //nolint:gosec // see the import
		text = hex.EncodeToString(sum[:])
	}
	sum := sha256.Sum256([]byte(text))
	return subtle.ConstantTimeCompare(sum[:], p.sum[:])
}

// logRefusal logs the first failed login at once and counts the others.
func (a *authenticator) logRefusal(r *http.Request, credentials bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	if !a.lastLog.IsZero() && now.Sub(a.lastLog) < refusalLogInterval {
		a.unlogged++
		return
	}
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	a.logger.Warn("login refused", "remote", host, "path", clip(r.URL.Path), "credentials", credentials, "refused_before", a.unlogged)
	a.lastLog, a.unlogged = now, 0
}
