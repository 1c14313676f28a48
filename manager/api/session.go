package api

import (
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/toskose/toskose/manager/access"
	"github.com/toskose/toskose/manager/users"
)

// session is who a browser is signed in as. A cookie shows it, which scripts cannot read.
// Browsers send the cookie to every port of the host, so each request also needs the key of
// the session, which only the page's own origin keeps.
type session struct {
	User    string     `json:"user"`
	Role    users.Role `json:"role"`
	Expires time.Time  `json:"expires,omitzero"` // of the session or token
	Key     string     `json:"key,omitempty"`    // where the session has just been made
}

// sessionKey is the header with the key of a session.
const sessionKey = "Toskose-Session-Key"

func sessionOf(c access.Caller) session {
	return session{User: c.Name, Role: c.Role, Expires: c.Expires.UTC()}
}

// getSession says whom the request is from.
func (s *server) getSession(r *http.Request) (reply, error) { return ok(sessionOf(callerOf(r))), nil }

// signIn puts a session of the caller into a cookie: one of its own, also for who shows a token,
// as nothing that was sent is answered. A session makes no other: it would never end.
func (s *server) signIn(r *http.Request) (reply, error) {
	caller := callerOf(r)
	if caller.Method == access.BySession {
		return reply{}, errSessionForSession
	}
	value, key, expires, err := s.opts.Access.SignIn(caller)
	if err != nil {
		return reply{}, err
	}
	caller.Expires = expires
	cookie := sessionCookie(r)
	cookie.Value, cookie.MaxAge = value, int((time.Until(expires)+time.Second-1)/time.Second)
	body := sessionOf(caller)
	body.Key = key
	return reply{status: http.StatusCreated, header: map[string]string{"Set-Cookie": cookie.String()}, body: body}, nil
}

// signOut ends the session, and takes its cookie away.
func (s *server) signOut(r *http.Request) (reply, error) {
	s.opts.Access.SignOut(callerOf(r))
	cookie := sessionCookie(r)
	cookie.MaxAge = -1
	return reply{header: map[string]string{"Set-Cookie": cookie.String()}, body: map[string]string{"status": "signed out"}}, nil
}

// sessionCookie is named by the port: browsers keep those of one host together, which
// may have a manager for each of several applications.
func sessionCookie(r *http.Request) *http.Cookie {
	name := "toskose"
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		name = fmt.Sprintf("%s-%s", name, port)
	}
	return &http.Cookie{Name: name, Path: "/", HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode}
}
