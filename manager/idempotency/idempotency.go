// Package idempotency answers a request with an Idempotency-Key as an earlier one with
// the same key was answered. It starts no goroutine.
package idempotency

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

// Key returns the Idempotency-Key of a request; empty: it has none. It may be in
// quotes, as structured fields have it.
func Key(r *http.Request) (string, error) {
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
		return "", &outcome.Error{Kind: outcome.ErrInvalid, Detail: fmt.Sprintf("an Idempotency-Key is one value of 1 to %d printable ASCII characters", maxKey)}
	}
	return key, nil
}

// signOf is equal for requests that ask for the same.
func signOf(r *http.Request, body []byte) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%s %s?%s\n%s", r.Method, strings.TrimSuffix(r.URL.EscapedPath(), "/"), r.URL.RawQuery, body))
}

// Answers are those to requests with a key. The zero value has none.
type Answers struct {
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

// Serve answers a request again as it was answered, if it has the key of an earlier one
// of the caller. Only successes are kept: what failed may be tried again, and an
// execution that its key stands for is the same one then. The request's body is read
// whole. Of a request that cannot be answered so nothing is written; the error is of
// package outcome, or the context's.
func (all *Answers) Serve(w http.ResponseWriter, r *http.Request, caller string, next http.HandlerFunc) error {
	key, err := Key(r)
	if err != nil {
		return err
	}
	if key == "" {
		next(w, r)
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	key = caller + "\x00" + key
	a, isNew, err := all.claim(r.Context(), key, signOf(r, body))
	switch {
	case err != nil:
		return err
	case !isNew:
		w.Header().Set("Idempotent-Replayed", "true")
		a.replay(w)
	default:
		defer all.settle(key, a)
		next(&keeper{ResponseWriter: w, answer: a}, r)
	}
	return nil
}

// claim returns the answer to a request, or a new one that the caller has to settle.
// It waits for the end of an earlier request.
func (all *Answers) claim(ctx context.Context, key string, sign [sha256.Size]byte) (a *answer, isNew bool, err error) {
	for {
		all.mu.Lock()
		known := all.byKey[key]
		if known == nil {
			a = &answer{sign: sign, done: make(chan struct{})}
			if all.byKey == nil {
				all.byKey = map[string]*answer{}
			}
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
func (all *Answers) settle(key string, a *answer) {
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
	for _, name := range []string{"Content-Type", "Content-Length", "Location", "Preference-Applied"} {
		if value := a.header.Get(name); value != "" {
			w.Header().Set(name, value)
		}
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
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
	if k.answer.status == 0 {
		k.WriteHeader(http.StatusOK)
	}
	k.answer.body = append(k.answer.body, data...)
	return k.ResponseWriter.Write(data)
}

// Unwrap lets http.ResponseController reach the connection.
func (k *keeper) Unwrap() http.ResponseWriter { return k.ResponseWriter }
