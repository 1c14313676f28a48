package api

import (
	"context"
	"crypto/rand"
	"net/http"
	"regexp"

	"github.com/toskose/toskose/manager/access"
)

// request is what is known of a request beside what it says.
type request struct {
	id     string
	caller access.Caller // empty until it is known
}

type traceKey struct{}

// requestOf returns what is known of a request.
func requestOf(r *http.Request) *request {
	if known, ok := r.Context().Value(traceKey{}).(*request); ok {
		return known
	}
	return &request{}
}

// callerOf returns who a request is from.
func callerOf(r *http.Request) access.Caller { return requestOf(r).caller }

// idForm is that of the ids that are taken from clients: it fits in a line of a log.
var idForm = regexp.MustCompile(`^[A-Za-z0-9._:/+=-]{1,128}$`)

// begin gives a request its id, which logs, problems and the answer have, and the
// answer the headers that all have.
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
