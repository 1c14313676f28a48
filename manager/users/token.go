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

// TokenLife is how long a token is valid.
const TokenLife = time.Hour

// maxToken is the maximum length of a token that is decoded.
const maxToken = 1024

// tokenPrefix identifies the string as a token, with its format version, for people and for secret scanners.
const tokenPrefix = "toskose1."

// Use is the purpose of a token. A token for another purpose is invalid.
type Use string

// The uses.
const (
	ForPrograms Use = ""        // sent with each request; can create a session
	ForBrowser  Use = "session" // stored in a cookie; cannot create tokens or sessions
)

// ErrToken is the error of an invalid or expired token.
var ErrToken = errors.New("the token is not valid")

// claims is the content of a token.
type claims struct {
	Use        Use    `json:"use,omitempty"`
	Key        string `json:"kid"` // a digest of the key that signed it
	User       string `json:"sub"`
	Generation string `json:"gen"`
	Expires    int64  `json:"exp"` // seconds of Unix time
}

// Signer signs tokens and verifies them. Tokens are not stored: a token expires with its time, with the key, and
// with any change of its user.
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

// Sign returns a token for a user in their current state.
func (s Signer) Sign(use Use, u User, expires time.Time) string {
	said, _ := json.Marshal(claims{use, s.id, u.Name, u.Generation, expires.Unix()}) // strings always encode
	body := base64.RawURLEncoding.EncodeToString(said)
	return tokenPrefix + body + "." + base64.RawURLEncoding.EncodeToString(s.mac(body, u))
}

// mac authenticates a token's content together with the state of its user.
func (s Signer) mac(body string, u User) []byte {
	mac := hmac.New(sha256.New, s.key)
	mark := u.Mark()
	mac.Write(mark[:])
	mac.Write([]byte(tokenPrefix + body))
	return mac.Sum(nil)
}

// PageKey returns the second secret of a session: a page stores it where only its own origin can read it, because
// browsers send cookies to every port of a host.
func (s Signer) PageKey(session string) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte("toskose: key of the page for the session " + session))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Verify returns the token's user, from the list, and when the token expires.
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
	u, _ := list.Find(c.User) // the zero User's mark matches no token
	if !hmac.Equal(mac, s.mac(body, u)) || u.Name == "" || u.Generation != c.Generation {
		return User{}, time.Time{}, ErrToken
	}
	expires := time.Unix(c.Expires, 0)
	if !now.Before(expires) {
		return User{}, time.Time{}, ErrToken
	}
	return u, expires, nil
}
