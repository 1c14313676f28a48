package api

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/toskose/toskose/manager/access"
	"github.com/toskose/toskose/manager/users"
)

// authenticate requires a password, a token or a client certificate. Read-only requests, which may stream for a
// long time, end when the user loses access.
func (s *server) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, err := s.identify(r)
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		requestOf(r).caller = caller
		if r.Method == http.MethodGet {
			ctx, done := s.opts.Access.Follow(r.Context(), caller)
			defer done()
			r = r.WithContext(ctx)
		}
		next.ServeHTTP(w, r)
	})
}

func (s *server) identify(r *http.Request) (access.Caller, error) {
	scheme, credentials, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	cookie, cookieErr := r.Cookie(sessionCookie(r).Name)
	switch {
	case strings.EqualFold(scheme, "Bearer"):
		token := strings.TrimSpace(credentials)
		if r.Method == http.MethodPost && chi.RouteContext(r.Context()).RoutePath == "/session" {
			return s.opts.Access.TypedToken(token, addressOf(r))
		}
		return s.opts.Access.Token(token)
	case strings.EqualFold(scheme, "Basic"):
		name, password, ok := r.BasicAuth()
		if !ok {
			return access.Caller{}, access.ErrDenied
		}
		if s.opts.Access.Exists(name) {
			requestOf(r).caller.Name = name
		}
		return s.opts.Access.Password(r.Context(), name, password, addressOf(r))
	case scheme == "" && cookieErr == nil:
		return s.opts.Access.Session(cookie.Value, r.Header.Get(sessionKey))
	case scheme == "" && r.TLS != nil && len(r.TLS.VerifiedChains) > 0:
		return s.opts.Access.Certificate(r.TLS.VerifiedChains[0][0].Subject.CommonName)
	}
	return access.Caller{}, access.ErrDenied
}

// fromPage is a header of requests from the web page: without it, browsers would open their own password dialog.
const fromPage = "Toskose-Page"

// refuse responds to an unauthenticated request.
func (s *server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var often *access.OftenError
	if errors.As(err, &often) {
		w.Header().Set("Retry-After", strconv.Itoa(int(often.After/time.Second)))
	} else if errors.Is(err, access.ErrDenied) && r.Header.Get(fromPage) == "" {
		w.Header().Add("WWW-Authenticate", `Basic realm="toskose", charset="UTF-8"`)
		w.Header().Add("WWW-Authenticate", `Bearer realm="toskose"`)
	}
	s.problem(w, r, err)
}

// permit passes on requests whose caller's role includes role.
func (s *server) permit(role users.Role) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !callerOf(r).Role.Includes(role) {
				s.problem(w, r, forbidden(callerOf(r), role))
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

func forbidden(caller access.Caller, needed users.Role) error {
	return fmt.Errorf("%w: %q is %s, and it needs %s", errForbidden, caller.Name, caller.Role, needed)
}

// addressOf returns the remote address of the connection. It ignores headers, which clients can forge.
func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
