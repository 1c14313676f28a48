package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// maxBody is the most bytes of a request's body.
const maxBody = 256 << 10

// takesBody reads the body before the handler does, also where none is expected: only
// then is it noticed that a client hangs up, and time limits of reading are over.
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
			s.answerProblem(w, r, fmt.Errorf("%w: %w", errIncomplete, err)) // the server calls off a request that it cannot read
		default:
			r.Body = io.NopCloser(bytes.NewReader(data))
			next.ServeHTTP(w, r)
		}
	})
}

// decode reads a body of JSON, which may be missing. Its media type does not count:
// curl calls it a form by default.
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

// hasNull finds a null that a decoder would take for an empty value. One in the place of
// a whole member is the same as none.
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
