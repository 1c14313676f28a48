package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/go-chi/chi/v5"
)

// maxBody is the most bytes of a request's body.
const maxBody = 256 << 10

// takesBody reads the body before the handler runs, even if none is expected: only then does the server notice
// that a client disconnected, and read timeouts no longer apply.
func (s *server) takesBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength == 0 {
			next.ServeHTTP(w, r)
			return
		}
		data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		var tooLarge *http.MaxBytesError
		switch {
		case errors.As(err, &tooLarge):
			s.problem(w, r, fmt.Errorf("%w: a body has at most %d bytes", errTooLarge, maxBody))
		case err != nil:
			w.Header().Set("Connection", "close")
			s.answerProblem(w, r, fmt.Errorf("%w: %w", errIncomplete, err)) // the server cancels a request that it cannot read
		default:
			r.Body = io.NopCloser(bytes.NewReader(data))
			next.ServeHTTP(w, r)
		}
	})
}

// decode reads a JSON body, which may be missing. It ignores the media type: curl sends a form's by default.
func decode(r *http.Request, into any, like string) error {
	body, _ := io.ReadAll(r.Body) // takesBody has read it
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	decoder.UseNumber()
	switch err := decoder.Decode(into); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return invalid("the body is not JSON like %s: %v", like, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return invalid("the body goes on after the JSON object")
	}
	if hasNull(body) {
		return invalid("the body has a null where a value should be, as in %s", like)
	}
	return nil
}

// hasNull reports whether the body has a null that a decoder would take for an empty value. A null in place of a
// whole member counts as an absent member.
func hasNull(text []byte) bool {
	decoder := json.NewDecoder(bytes.NewReader(text))
	for depth := 0; ; {
		switch token, err := decoder.Token(); {
		case err != nil:
			return false
		case token == nil && depth > 1:
			return true
		case token == json.Delim('{'), token == json.Delim('['):
			depth++
		case token == json.Delim('}'), token == json.Delim(']'):
			depth--
		}
	}
}

// param returns a parameter of the path. chi matches the escaped path if the URL has one.
func param(r *http.Request, name string) string {
	value := chi.URLParam(r, name)
	if r.URL.RawPath == "" {
		return value
	}
	if plain, err := url.PathUnescape(value); err == nil {
		return plain
	}
	return value
}

// replicaOf returns the address or instance of the replica that a request is for.
func replicaOf(r *http.Request) string { return r.URL.Query().Get("replica") }

// flag reads a query parameter that is true or false.
func flag(r *http.Request, name string) (bool, error) { return flagOr(r, name, false) }

// flagOr is flag with a default.
func flagOr(r *http.Request, name string, otherwise bool) (bool, error) {
	switch value := r.URL.Query().Get(name); value {
	case "":
		return otherwise, nil
	case "true", "1":
		return true, nil
	case "false", "0":
		return false, nil
	default:
		return false, invalid("%s is true or false, not %q", name, value)
	}
}
