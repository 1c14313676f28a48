package users

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// TokenLife is how long a token is good for.
const TokenLife = time.Hour

// maxToken bounds what is decoded.
const maxToken = 1024

// tokenPrefix says what the string is, to people and to programs that look for
// secrets in the wrong places, and which form it has.
const tokenPrefix = "toskose1."

// Use is what a token is for. One that is for something else is not valid.
type Use string

// The uses.
const (
	ForPrograms Use = ""        // shown with each request; it makes a session
	ForBrowser  Use = "session" // kept in a cookie; it makes nothing
)

// ErrToken is the error of a token that is not good, or no longer.
var ErrToken = errors.New("the token is not valid")

// claims is what a token says.
type claims struct {
	Use        Use    `json:"use,omitempty"`
	Key        string `json:"kid"` // a digest of the key that signed it
	User       string `json:"sub"`
	Generation string `json:"gen"`
	Expires    int64  `json:"exp"` // seconds of Unix time
}

// Signer signs tokens and verifies them. Nothing is kept of a token: it ends with its
// time, with the key, and with any change of its user.
type Signer struct {
	key []byte
	id  string
}

// NewSigner returns the signer of a secret.
func NewSigner(secret []byte) Signer {
	derived := hmac.New(sha256.New, secret)
	derived.Write([]byte("toskose: tokens of the manager's users"))
	key := derived.Sum(nil)
	id := sha256.Sum256(key)
	return Signer{key, hex.EncodeToString(id[:4])}
}

// Sign returns a token for a user as they are now.
func (s Signer) Sign(use Use, u User, expires time.Time) string {
	said, _ := json.Marshal(claims{use, s.id, u.Name, u.Generation, expires.Unix()}) // strings always encode
	body := base64.RawURLEncoding.EncodeToString(said)
	return tokenPrefix + body + "." + base64.RawURLEncoding.EncodeToString(s.mac(body, u))
}

// mac authenticates what a token says together with the state of its user.
func (s Signer) mac(body string, u User) []byte {
	mac := hmac.New(sha256.New, s.key)
	mark := u.Mark()
	mac.Write(mark[:])
	mac.Write([]byte(tokenPrefix + body))
	return mac.Sum(nil)
}

// PageKey returns the second secret of a session: a page keeps it where only its own origin
// reads it, as browsers send cookies to every port of a host.
func (s Signer) PageKey(session string) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte("toskose: key of the page for the session " + session))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Verify returns the user of a token, as the list has them, and when the token ends.
func (s Signer) Verify(use Use, token string, list List, now time.Time) (User, time.Time, error) {
	text, ok := strings.CutPrefix(token, tokenPrefix)
	body, signature, two := strings.Cut(text, ".")
	if !ok || !two || len(token) > maxToken {
		return User{}, time.Time{}, ErrToken
	}
	mac, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil {
		return User{}, time.Time{}, ErrToken
	}
	said, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil {
		return User{}, time.Time{}, ErrToken
	}
	var c claims
	if json.Unmarshal(said, &c) != nil || c.Key != s.id || c.Use != use {
		return User{}, time.Time{}, ErrToken
	}
	u, _ := list.Find(c.User) // nobody's mark fits no token
	if !hmac.Equal(mac, s.mac(body, u)) || u.Name == "" || u.Generation != c.Generation {
		return User{}, time.Time{}, ErrToken
	}
	expires := time.Unix(c.Expires, 0)
	if !now.Before(expires) {
		return User{}, time.Time{}, ErrToken
	}
	return u, expires, nil
}
