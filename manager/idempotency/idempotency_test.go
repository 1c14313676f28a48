package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toskose/toskose/internal/leak"
	"github.com/toskose/toskose/manager/idempotency"
	"github.com/toskose/toskose/manager/rest"
)

func TestMain(m *testing.M) { leak.Main(m) }

// counting answers with how often it was called, with the body of the request, and with more.
type counting struct {
	idempotency.Answers
	calls  int
	status int // 0: 201
	more   []byte
}

func (c *counting) next(w http.ResponseWriter, r *http.Request) {
	c.calls++
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Location", fmt.Sprint("/", c.calls))
	w.Header().Set("X-Request-Id", fmt.Sprint(c.calls))
	if c.status == 0 {
		c.status = http.StatusCreated
	}
	w.WriteHeader(c.status)
	fmt.Fprintf(w, "%d %s", c.calls, body)
	_, _ = w.Write(c.more)
}

func (c *counting) post(caller, path, body, key string) (*httptest.ResponseRecorder, error) {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Idempotency-Key", key)
	w := httptest.NewRecorder()
	return w, c.Serve(w, r, caller, c.next)
}

func TestAKeyIsOneAnswer(t *testing.T) {
	t.Parallel()
	var c counting
	for _, tt := range []struct {
		name, caller, path, body, key string
		want                          string
		err                           error
	}{
		{"the first", "ann", "/a?x=1", "{}", "k", "1 {}", nil},
		{"again", "ann", "/a?x=1", "{}", "k", "1 {}", nil},
		{"in quotes, and with a slash", "ann", "/a/?x=1", "{}", `"k"`, "1 {}", nil},
		{"by another", "bob", "/a?x=1", "{}", "k", "2 {}", nil},
		{"another key", "ann", "/a?x=1", "{}", "k2", "3 {}", nil},
		{"another body", "ann", "/a?x=1", "{ }", "k", "", rest.ErrReused},
		{"another path", "ann", "/b?x=1", "{}", "k", "", rest.ErrReused},
		{"another query", "ann", "/a?x=2", "{}", "k", "", rest.ErrReused},
		{"no key", "ann", "/a?x=1", "{}", "", "", rest.ErrInvalid},
		{"nothing in quotes", "ann", "/a?x=1", "{}", `""`, "", rest.ErrInvalid},
		{"a long one", "ann", "/a?x=1", "{}", strings.Repeat("k", 256), "", rest.ErrInvalid},
		{"an odd one", "ann", "/a?x=1", "{}", "k\n", "", rest.ErrInvalid},
	} {
		before := c.calls
		w, err := c.post(tt.caller, tt.path, tt.body, tt.key)
		if !errors.Is(err, tt.err) || w.Body.String() != tt.want {
			t.Errorf("%s: %v, %q", tt.name, err, w.Body)
			continue
		}
		replayed := err == nil && before == c.calls
		if (w.Header().Get("Idempotent-Replayed") == "true") != replayed || replayed && (w.Code != http.StatusCreated || w.Header().Get("Location") != "/1" || w.Header().Get("X-Request-Id") != "") {
			t.Errorf("%s: %d %v", tt.name, w.Code, w.Header())
		}
	}
}

func TestAFailureIsTriedAgain(t *testing.T) {
	t.Parallel()
	c := counting{status: http.StatusConflict}
	for call := 1; call < 3; call++ {
		if w, err := c.post("ann", "/", "", "k"); err != nil || w.Code != http.StatusConflict || c.calls != call {
			t.Errorf("after %d calls: %d, %v", c.calls, w.Code, err)
		}
	}
}

// TestTheOldestAnswersAreForgotten where there are many, or large ones.
func TestTheOldestAnswersAreForgotten(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ kept, size int }{{1000, 0}, {16, 1<<20 - len("16 ")}} {
		c := counting{more: make([]byte, tt.size)}
		post := func(n int) {
			t.Helper()
			if _, err := c.post("ann", "/", "", fmt.Sprint(n)); err != nil {
				t.Fatal(err)
			}
		}
		for n := range tt.kept {
			post(n)
		}
		post(0)
		if c.calls != tt.kept {
			t.Errorf("of %d answers of %d bytes the first is forgotten", tt.kept, tt.size)
		}
		post(tt.kept)
		post(1) // is still there
		post(0)
		if c.calls != tt.kept+2 {
			t.Errorf("of %d answers of %d bytes the first is still there, or another is not: %d calls", tt.kept+1, tt.size, c.calls)
		}
	}
}

// TestWhoComesInBetweenWaits for the first to be answered, and no longer than it likes.
func TestWhoComesInBetweenWaits(t *testing.T) {
	t.Parallel()
	var answers idempotency.Answers
	begun, hold, calls := make(chan struct{}), make(chan struct{}), 0
	next := func(w http.ResponseWriter, _ *http.Request) {
		calls++
		close(begun)
		<-hold
		_, _ = io.WriteString(w, "done")
	}
	request := func(ctx context.Context) (string, error) {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", http.NoBody)
		r.Header.Set("Idempotency-Key", "k")
		w := httptest.NewRecorder()
		err := answers.Serve(w, r, "ann", next)
		return w.Body.String(), err
	}
	type answer struct {
		text string
		err  error
	}
	got := make(chan answer)
	ask := func() {
		text, err := request(context.Background())
		got <- answer{text, err}
	}
	go ask()
	<-begun
	gone, leave := context.WithCancel(t.Context())
	leave()
	if text, err := request(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("who leaves is answered %q, %v", text, err)
	}
	go ask()
	close(hold)
	for range 2 {
		if a := <-got; a.err != nil || a.text != "done" {
			t.Errorf("answered %q, %v", a.text, a.err)
		}
	}
	if calls != 1 {
		t.Errorf("called %d times", calls)
	}
}
