package rpc

import (
	"crypto/sha1" //nolint:gosec // {SHA} is Supervisor's format; nothing new is hashed with it
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// authenticator checks one user's password, of which it keeps a hash. It limits
// how often failed logins are logged, so that they cannot fill the log.
type authenticator struct {
	required bool
	hashed   bool // the password was given as {SHA}
	user     [sha256.Size]byte
	password [sha256.Size]byte
	empty    bool // nobody is admitted

	logger   *slog.Logger
	now      func() time.Time
	mu       sync.Mutex
	lastLog  time.Time
	unlogged int
}

// refusalLogInterval is how often failed logins are logged at most.
const refusalLogInterval = time.Minute

func newAuthenticator(user, password string, logger *slog.Logger, now func() time.Time) *authenticator {
	digest, hashed := strings.CutPrefix(password, "{SHA}")
	if hashed {
		password = strings.ToLower(digest)
	}
	return &authenticator{
		required: user != "" || password != "" || hashed,
		hashed:   hashed,
		user:     sha256.Sum256([]byte(user)),
		password: sha256.Sum256([]byte(password)),
		empty:    password == "",
		logger:   logger,
		now:      now,
	}
}

// admits reports whether the request may be answered. It takes the same time
// however much of the name or the password is right: it compares both hashes,
// always.
func (a *authenticator) admits(r *http.Request) bool {
	if !a.required {
		return true
	}
	user, password, ok := r.BasicAuth()
	if a.hashed {
		sum := sha1.Sum([]byte(password)) //nolint:gosec // see the import
		password = hex.EncodeToString(sum[:])
	}
	userSum, passwordSum := sha256.Sum256([]byte(user)), sha256.Sum256([]byte(password))
	same := subtle.ConstantTimeCompare(userSum[:], a.user[:]) &
		subtle.ConstantTimeCompare(passwordSum[:], a.password[:])
	if ok && same == 1 && !a.empty {
		return true
	}
	a.logRefusal(r, ok)
	return false
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
