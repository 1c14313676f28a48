package api

import (
	"net/http"
	"time"

	"github.com/toskose/toskose/manager/access"
	"github.com/toskose/toskose/manager/users"
)

// token is the response to a token request; its field names are OAuth's (RFC 6749, 5.1).
type token struct {
	Token   string     `json:"access_token"`
	Type    string     `json:"token_type"`
	Seconds int        `json:"expires_in"`
	Expires time.Time  `json:"expires"`
	User    string     `json:"user"`
	Role    users.Role `json:"role"`
}

// makeToken issues a token to the caller. A token cannot create another token: it would never expire.
func (s *server) makeToken(r *http.Request) (reply, error) {
	caller := callerOf(r)
	if caller.Method == access.ByToken || caller.Method == access.BySession {
		return reply{}, errTokenForToken
	}
	text, expires, err := s.opts.Access.Issue(caller)
	if err != nil {
		return reply{}, err
	}
	made := token{text, "Bearer", int(users.TokenLife / time.Second), expires.UTC(), caller.Name, caller.Role}
	return reply{status: http.StatusCreated, body: made}, nil
}
