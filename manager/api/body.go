package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Limits of a request's body.
const (
	maxBody  = 256 << 10
	bodyTime = 10 * time.Second
)

// takesBody reads the body before the handler does: it refuses one that is too
// large, and closes the connection of one that is too slow.
func (s *server) takesBody(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		connection := http.NewResponseController(w)
		_ = connection.SetReadDeadline(time.Now().Add(bodyTime))
		data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		_ = connection.SetReadDeadline(time.Time{})
		var tooLarge *http.MaxBytesError
		switch {
		case errors.As(err, &tooLarge):
			s.problem(w, r, fmt.Errorf("%w: a body has at most %d bytes", errTooLarge, maxBody))
		case err != nil:
			w.Header().Set("Connection", "close")
			s.problem(w, r, invalid("the body did not arrive: %v", err))
		default:
			r.Body = io.NopCloser(bytes.NewReader(data))
			next(w, r)
		}
	}
}

// decode reads a body of JSON, which may be missing. Its media type does not count:
// curl calls it a form by default.
func decode(r *http.Request, into any, like string) error {
	decoder := json.NewDecoder(r.Body)
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
	return nil
}
