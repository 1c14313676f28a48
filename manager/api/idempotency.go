package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/toskose/toskose/manager/outcome"
)

// Bounds of what is kept of answers to requests with an Idempotency-Key.
const (
	maxKey     = 255
	maxAnswers = 1000
	maxKept    = 16 << 20 // bytes of all bodies
)

// keyOf returns the Idempotency-Key of a request; empty: it has none. It may be in
// quotes, as structured fields have it.
func keyOf(r *http.Request) (string, error) {
	values := r.Header.Values("Idempotency-Key")
	if len(values) == 0 {
		return "", nil
	}
	key := values[0]
	if len(key) > 1 && strings.HasPrefix(key, `"`) && strings.HasSuffix(key, `"`) {
		key = key[1 : len(key)-1]
	}
	odd := strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' })
	if len(values) > 1 || key == "" || len(key) > maxKey || odd {
		return "", invalid("an Idempotency-Key is one value of 1 to %d printable ASCII characters", maxKey)
	}
	return key, nil
}

// takesKey answers a request again as it was answered, if it has the Idempotency-Key of
// an earlier one. Only successes are kept: what failed may be tried again, and an
// execution that its key stands for is the same one then.
func (s *server) takesKey(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		key, err := keyOf(r)
		if err != nil {
			s.problem(w, r, err)
			return
		}
		if key == "" {
			next(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body) // takesBody has read it
		r.Body = io.NopCloser(bytes.NewReader(body))
		a, isNew, err := s.answers.claim(r.Context(), callerOf(r).Name+"\x00"+key, signOf(r, body))
		switch {
		case err != nil:
			s.problem(w, r, err)
		case !isNew:
			w.Header().Set("Idempotent-Replayed", "true")
			a.replay(w)
		default:
			defer s.answers.settle(callerOf(r).Name+"\x00"+key, a)
			next(&keeper{ResponseWriter: w, answer: a}, r)
		}
	}
}

// signOf is equal for requests that ask for the same.
func signOf(r *http.Request, body []byte) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%s %s?%s\n%s", r.Method, strings.TrimSuffix(r.URL.EscapedPath(), "/"), r.URL.RawQuery, body))
}

// answers are those to requests with a key.
type answers struct {
	mu     sync.Mutex
	byKey  map[string]*answer
	oldest []string // keys of those that are kept
	size   int      // bytes of their bodies
}

// answer is one of them, or a request that is not answered yet.
type answer struct {
	sign   [sha256.Size]byte
	done   chan struct{} // closed when it is answered
	status int           // 0: nothing was answered
	header http.Header
	body   []byte
}

// claim returns the answer to a request, or a new one that the caller has to settle.
// It waits for the end of an earlier request.
func (all *answers) claim(ctx context.Context, key string, sign [sha256.Size]byte) (a *answer, isNew bool, err error) {
	for {
		all.mu.Lock()
		known := all.byKey[key]
		if known == nil {
			a = &answer{sign: sign, done: make(chan struct{})}
			all.byKey[key] = a
		}
		all.mu.Unlock()
		switch {
		case known == nil:
			return a, true, nil
		case known.sign != sign:
			return nil, false, &outcome.Error{Kind: outcome.ErrReused, Detail: "another request had this Idempotency-Key"}
		}
		select {
		case <-known.done:
			if known.kept() {
				return known, false, nil
			}
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
	}
}

func (a *answer) kept() bool { return a.status/100 == 2 }

// settle keeps an answer, or forgets that there was a request.
func (all *answers) settle(key string, a *answer) {
	all.mu.Lock()
	defer all.mu.Unlock()
	defer close(a.done)
	if !a.kept() {
		delete(all.byKey, key)
		return
	}
	all.oldest = append(all.oldest, key)
	all.size += len(a.body)
	for len(all.oldest) > maxAnswers || all.size > maxKept {
		all.size -= len(all.byKey[all.oldest[0]].body)
		delete(all.byKey, all.oldest[0])
		all.oldest = slices.Delete(all.oldest, 0, 1)
	}
}

func (a *answer) replay(w http.ResponseWriter) {
	for _, name := range []string{"Location", "Preference-Applied"} {
		if value := a.header.Get(name); value != "" {
			w.Header().Set(name, value)
		}
	}
	send(w, a.status, a.header.Get("Content-Type"), a.body)
}

// keeper notes what is answered.
type keeper struct {
	http.ResponseWriter
	answer *answer
}

func (k *keeper) WriteHeader(status int) {
	k.answer.status, k.answer.header = status, k.Header().Clone()
	k.ResponseWriter.WriteHeader(status)
}

func (k *keeper) Write(data []byte) (int, error) {
	k.answer.body = append(k.answer.body, data...)
	return k.ResponseWriter.Write(data)
}

// Unwrap lets http.ResponseController reach the connection.
func (k *keeper) Unwrap() http.ResponseWriter { return k.ResponseWriter }
