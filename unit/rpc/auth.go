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

// password is one, hashed.
type password struct {
	hashed bool // it was given as {SHA}
	sum    [sha256.Size]byte
}

func newPassword(text string) password {
	digest, hashed := strings.CutPrefix(text, "{SHA}")
	if hashed {
		text = strings.ToLower(digest)
	}
	return password{hashed, sha256.Sum256([]byte(text))}
}

// authenticator checks one user's passwords, of which it keeps hashes. It limits
// how often failed logins are logged, so that they cannot fill the log.
type authenticator struct {
	required bool
	user     [sha256.Size]byte
	fixed    []password // nobody is admitted without one

	// read reads a file of passwords, in the place of fixed; nil: there is none.
	read     func() ([]byte, error)
	reading  sync.Mutex
	file     []byte // as it was when it could be used last
	ofFile   []password
	unusable string // what is wrong with it; it is said once

	logger   *slog.Logger
	now      func() time.Time
	mu       sync.Mutex
	lastLog  time.Time
	unlogged int
}

// refusalLogInterval is how often failed logins are logged at most.
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

// again is how many passwords a file has, which is read again; 0: there is none, or it
// cannot be read now.
func (a *authenticator) again() int {
	if a.read == nil {
		return 0
	}
	all := a.passwords()
	a.reading.Lock()
	defer a.reading.Unlock()
	if a.unusable != "" {
		return 0
	}
	return len(all)
}

// passwords returns those that are right. A file is read whenever it is asked for, which
// takes microseconds: its time does not tell all changes. One that cannot be used is
// somebody who writes: then those of before stay.
func (a *authenticator) passwords() []password {
	if a.read == nil {
		return a.fixed
	}
	a.reading.Lock()
	defer a.reading.Unlock()
	file, err := a.read()
	if err == nil && bytes.Equal(file, a.file) {
		a.unusable = ""
		return a.ofFile
	}
	now := parsePasswords(file)
	if err == nil && len(now) == 0 {
		err = errors.New("it is empty")
	}
	if err != nil {
		if a.unusable != err.Error() {
			a.unusable = err.Error()
			a.logger.Error("the file of the password cannot be used; the password of before stays", "error", err)
		}
		return a.ofFile
	}
	a.logger.Info("the file of the password has changed", "passwords", len(now))
	a.file, a.ofFile, a.unusable = file, now, ""
	return now
}

// admits reports whether the request may be answered. It takes the same time
// however much of the name or the password is right: it compares all hashes,
// always.
func (a *authenticator) admits(r *http.Request) bool {
	if !a.required {
		return true
	}
	user, given, ok := r.BasicAuth()
	userSum := sha256.Sum256([]byte(user))
	same := 0
	for _, right := range a.passwords() {
		same |= right.is(given)
	}
	if ok && same&subtle.ConstantTimeCompare(userSum[:], a.user[:]) == 1 {
		return true
	}
	a.logRefusal(r, ok)
	return false
}

// is returns 1 if a text is the password, else 0.
func (p password) is(text string) int {
	if p.hashed {
		sum := sha1.Sum([]byte(text)) //nolint:gosec // see the import
		text = hex.EncodeToString(sum[:])
	}
	sum := sha256.Sum256([]byte(text))
	return subtle.ConstantTimeCompare(sum[:], p.sum[:])
}

// logRefusal logs the first failure at once and counts the others.
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
