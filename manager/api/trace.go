package api

import (
	"context"
	"crypto/rand"
	"net/http"
	"regexp"
	"strings"

	"github.com/toskose/toskose/manager/access"
)

// request is the server's data about a request: its id and, once authenticated, its caller.
type request struct {
	id     string
	caller access.Caller // empty until authenticated
}

type traceKey struct{}

// requestOf returns the server's data about a request.
func requestOf(r *http.Request) *request {
	if known, ok := r.Context().Value(traceKey{}).(*request); ok {
		return known
	}
	return &request{}
}

// callerOf returns the caller of a request.
func callerOf(r *http.Request) access.Caller { return requestOf(r).caller }

// idForm matches the request ids that are accepted from clients: they fit in a log line.
var idForm = regexp.MustCompile(`^[A-Za-z0-9._:/+=-]{1,128}$`)

// begin assigns the request's id, which logs, problems and the response include, and sets common headers.
func (s *server) begin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		known := &request{id: r.Header.Get("X-Request-Id")}
		if !idForm.MatchString(known.id) {
			known.id = rand.Text()
		}
		w.Header().Set("X-Request-Id", known.id)
		protect(w.Header(), r)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), traceKey{}, known)))
	})
}

// protect sets the headers that restrict what browsers may do with a response. The pages of /docs set their own
// policy.
func protect(h http.Header, r *http.Request) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY") // frame-ancestors for old browsers
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	if strings.HasPrefix(r.URL.Path, "/api/") || r.URL.Path == "/metrics" {
		h.Set("Cache-Control", "no-store")
	}
	if r.TLS != nil {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}
