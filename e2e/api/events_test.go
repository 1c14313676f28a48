package api_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toskose/toskose/manager"
	"github.com/toskose/toskose/manager/api"
	"github.com/toskose/toskose/manager/client"
)

// telling is an application with three states, which have one id, and one event after
// them.
type telling struct{ *app }

func (*telling) Events(after string) func(context.Context) ([]manager.Event, error) {
	var next []manager.Event
	if after == "" {
		for i := range 3 {
			next = append(next, manager.Event{ID: "e:1", Kind: "state", Component: fmt.Sprint("c", i), More: i < 2})
		}
	}
	next = append(next, manager.Event{ID: "e:2", Kind: "gone", Component: "c0"})
	return func(context.Context) ([]manager.Event, error) {
		if len(next) == 0 {
			return nil, io.EOF
		}
		events := next[:1] // each in a piece of its own
		next = next[1:]
		return events, nil
	}
}

func tells(t *testing.T) http.Handler {
	t.Helper()
	h, err := api.New(&telling{&app{}}, api.Options{Access: gate(t), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestAStreamThatIsCutAmongTheStatesLosesNone cuts it after each of its events.
func TestAStreamThatIsCutAmongTheStatesLosesNone(t *testing.T) {
	t.Parallel()
	for cut := 1; cut <= 4; cut++ {
		t.Run(fmt.Sprint(cut), func(t *testing.T) {
			t.Parallel()
			h := tells(t)
			connections := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if connections++; connections == 1 {
					w = &cutting{ResponseWriter: w, left: 1 + cut} // the greeting, too
				}
				h.ServeHTTP(w, r)
			}))
			t.Cleanup(server.Close)
			c := client.New(server.URL, "admin", "pw")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			told := map[string]bool{}
			_ = c.Follow(ctx, "", func(e client.Event) error {
				if told[e.Kind+e.Component] = true; e.Kind == "gone" && connections > 1 || len(told) == 4 {
					cancel()
				}
				return nil
			}, func(error) {})
			if len(told) != 4 {
				t.Errorf("told %v", told)
			}
		})
	}
}

// cutting ends a connection after some writes.
type cutting struct {
	http.ResponseWriter
	left int
}

func (c *cutting) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *cutting) Write(text []byte) (int, error) {
	if c.left--; c.left < 0 {
		panic(http.ErrAbortHandler)
	}
	return c.ResponseWriter.Write(text)
}

func TestOfStatesThatAreFilteredTheIDIsTold(t *testing.T) {
	t.Parallel()
	h := tells(t)
	w := ask(t, h, "GET", "/api/v1/events?component=c1", "")
	if got := w.Body.String(); strings.Count(got, "data:") != 1 || !strings.Contains(got, "\nid: e:1\n\n") || !strings.HasSuffix(got, "id: e:2\n\n") {
		t.Errorf("%q", got)
	}
}
