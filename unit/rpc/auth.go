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

// authenticator knows one user and the password as a hash, and logs failed
// logins without letting whoever fails fill the log.
type authenticator struct {
	required bool
	hashed   bool // the password was given as {SHA}
	user     [sha256.Size]byte
	password [sha256.Size]byte
	empty    bool // no password admits anyone

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

// admits tells whether the request may be answered. The time it takes does not
// depend on how much of the name or the password is right: their hashes are
// compared, both always.
func (a *authenticator) admits(r *http.Request) bool {
	if !a.required {
		return true
	}
	user, password, given := r.BasicAuth()
	if a.hashed {
		sum := sha1.Sum([]byte(password)) //nolint:gosec // see the import
		password = hex.EncodeToString(sum[:])
	}
	userSum, passwordSum := sha256.Sum256([]byte(user)), sha256.Sum256([]byte(password))
	same := subtle.ConstantTimeCompare(userSum[:], a.user[:]) &
		subtle.ConstantTimeCompare(passwordSum[:], a.password[:])
	if given && same == 1 && !a.empty {
		return true
	}
	a.refused(r, given)
	return false
}

// refused logs the first failure at once and the rest as a number.
func (a *authenticator) refused(r *http.Request, given bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	if !a.lastLog.IsZero() && now.Sub(a.lastLog) < refusalLogInterval {
		a.unlogged++
		return
	}
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	a.logger.Warn("login refused", "remote", host, "path", clip(r.URL.Path), "credentials", given, "refused_before", a.unlogged)
	a.lastLog, a.unlogged = now, 0
}
