package api

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/toskose/toskose/manager/access"
	"github.com/toskose/toskose/manager/view"
)

// reply is a handler's response.
type reply struct {
	status int // 0: 200
	header map[string]string
	body   any // as JSON; a string as plain text; or *view.Encoded
}

func ok(body any) reply { return reply{body: body} }

// handle turns the results of handlers into responses.
func (s *server) handle(h func(*http.Request) (reply, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		answer, err := h(r)
		for name, value := range answer.header {
			w.Header().Set(name, value)
		}
		if err != nil {
			s.problem(w, r, err)
			return
		}
		contentType, data, tag := "application/json", []byte(nil), ""
		if made, is := answer.body.(*view.Encoded); is {
			data, tag = made.JSON, tagOf(made.Sum)
		} else {
			contentType, data = encode(contentType, answer.body)
		}
		if answer.status == 0 {
			answer.status = http.StatusOK
		}
		if answer.status == http.StatusOK && (r.Method == http.MethodGet || r.Method == http.MethodHead) && unchanged(w, r, data, tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		send(w, answer.status, contentType, data)
	}
}

// unchanged sets the ETag of a response, and reports whether the client already has this version (RFC 9110,
// 13.1.2).
func unchanged(w http.ResponseWriter, r *http.Request, data []byte, tag string) bool {
	if tag == "" {
		tag = tagOf(sha256.Sum256(data))
	}
	w.Header().Set("ETag", tag)
	w.Header().Set("Cache-Control", "private, no-cache")
	for _, line := range r.Header.Values("If-None-Match") {
		for known := range strings.SplitSeq(line, ",") {
			if known = strings.TrimSpace(known); known == "*" || strings.TrimPrefix(known, "W/") == tag {
				return true
			}
		}
	}
	return false
}

// tagOf returns the entity tag for a hash.
func tagOf(sum [sha256.Size]byte) string {
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:15]) + `"`
}

// write sends a response that is built on the spot.
func write(w http.ResponseWriter, status int, contentType string, body any) {
	contentType, data := encode(contentType, body)
	send(w, status, contentType, data)
}

// encode returns a body as JSON, or as plain text if it is a string.
func encode(contentType string, body any) (string, []byte) {
	if text, isText := body.(string); isText {
		return "text/plain; charset=utf-8", []byte(text)
	}
	data, err := json.MarshalIndent(body, "", "  ")
	if err != nil {
		panic(err) // recovered, logged and reported as an internal error
	}
	return contentType, append(data, '\n')
}

// send sends a response. It ignores write errors: the client is not reading.
func send(w http.ResponseWriter, status int, contentType string, data []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(status)
	_, _ = w.Write(data)
}

// problem responds with a problem document, and logs the error.
func (s *server) problem(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(context.Cause(r.Context()), access.ErrEnded) {
		err = access.ErrEnded
	} else if r.Context().Err() != nil {
		s.opts.Logger.Debug("the client went away", "request", requestOf(r).id, "method", r.Method, "path", r.URL.Path, "error", err)
		return
	}
	s.answerProblem(w, r, err)
}

// answerProblem is problem for requests that may be canceled already.
func (s *server) answerProblem(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	p.Instance, p.Request = r.URL.Path, requestOf(r).id
	log := s.opts.Logger.Debug
	if p.Status >= http.StatusInternalServerError {
		log = s.opts.Logger.Warn
	}
	log("request not fulfilled", "request", p.Request, "method", r.Method, "path", r.URL.Path, "status", p.Status, "error", err)
	write(w, p.Status, "application/problem+json", p)
}
