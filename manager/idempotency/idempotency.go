// Package idempotency repeats the response to an earlier request with the same Idempotency-Key. It starts no
// goroutine.
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

	"github.com/toskose/toskose/manager/rest"
)

// Limits on the stored responses.
const (
	maxKey     = 255
	maxAnswers = 1000
	maxKept    = 16 << 20 // total size of all bodies
)

// Key returns the Idempotency-Key of a request; empty if it has none. The key may be quoted, as in structured
// fields.
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
		return "", &rest.Error{Kind: rest.ErrInvalid, Detail: fmt.Sprintf("an Idempotency-Key is one value of 1 to %d printable ASCII characters", maxKey)}
	}
	return key, nil
}

// signOf returns a digest that is equal for identical requests.
func signOf(r *http.Request, body []byte) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%s %s?%s\n%s", r.Method, strings.TrimSuffix(r.URL.EscapedPath(), "/"), r.URL.RawQuery, body))
}

// Answers stores the responses to requests with a key. The zero value is empty.
type Answers struct {
	mu     sync.Mutex
	byKey  map[string]*answer
	oldest []string // keys of stored responses
	size   int      // total size of their bodies
}

// answer is a stored response, or a request in progress.
type answer struct {
	sign   [sha256.Size]byte
	done   chan struct{} // closed when the response is complete
	status int           // 0: no response
	header http.Header
	body   []byte
}

// Serve repeats the response to an earlier request of this caller with the same key. It stores only successful
// responses: failed requests may be retried, and an execution with an id derived from the key is then the same
// one. Serve reads the whole request body. If it returns an error, it has written nothing; the error is of package
// outcome, or the context's.
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

// claim returns the response to a request, or a new one that the caller must settle. It waits for an earlier
// request in progress.
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
			return nil, false, &rest.Error{Kind: rest.ErrReused, Detail: "another request had this Idempotency-Key"}
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

// settle stores a response, or forgets the request.
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

// keeper records a response.
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
