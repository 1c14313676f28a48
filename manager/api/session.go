package api

import (
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/toskose/toskose/manager/access"
	"github.com/toskose/toskose/manager/users"
)

// session identifies the user of a browser. A cookie holds it, which scripts cannot read. Browsers send cookies to
// every port of the host, so each request also needs the session's key, which only the page's origin stores.
type session struct {
	User    string     `json:"user"`
	Role    users.Role `json:"role"`
	Expires time.Time  `json:"expires,omitzero"` // of the session or token
	Key     string     `json:"key,omitempty"`    // only in the response that creates the session
}

// sessionKey is the header with the key of a session.
const sessionKey = "Toskose-Session-Key"

func sessionOf(c access.Caller) session {
	return session{User: c.Name, Role: c.Role, Expires: c.Expires.UTC()}
}

// getSession returns the caller's identity.
func (s *server) getSession(r *http.Request) (reply, error) { return ok(sessionOf(callerOf(r))), nil }

// signIn stores a new session in a cookie. A caller with a token gets a separate session, because responses never
// contain credentials from the request. A session cannot create another session: it would never expire.
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

// signOut ends the session and deletes its cookie.
func (s *server) signOut(r *http.Request) (reply, error) {
	s.opts.Access.SignOut(callerOf(r))
	cookie := sessionCookie(r)
	cookie.MaxAge = -1
	return reply{header: map[string]string{"Set-Cookie": cookie.String()}, body: map[string]string{"status": "signed out"}}, nil
}

// sessionCookie includes the port in the name: browsers share cookies between all ports of a host, where several
// applications may each have a manager.
func sessionCookie(r *http.Request) *http.Cookie {
	name := "toskose"
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		name = fmt.Sprintf("%s-%s", name, port)
	}
	return &http.Cookie{Name: name, Path: "/", HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode}
}
