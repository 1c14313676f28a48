package client_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/toskose/toskose/manager/client"
)

// TestAnExecutionIsFollowedOverAManagerThatIsReplaced has the manager break off an
// answer, and be there again without units, before it tells the end.
func TestAnExecutionIsFollowedOverAManagerThatIsReplaced(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			if r.URL.String() != "/api/v1/node/back%2Fend/api/start?force=true&replica=a" || string(body) != `{"inputs":{"port":"81"},"timeout":1.5}` {
				t.Errorf("asked %s %s", r.URL, body)
			}
			w.WriteHeader(http.StatusAccepted)
			_, _ = io.WriteString(w, `{"id": "X", "outcome": "running", "runs": [{"replica": "a", "outcome": "running"}]}`)
			return
		}
		switch asked.Add(1) {
		case 1:
			panic(http.ErrAbortHandler)
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 3:
			_, _ = io.WriteString(w, `{"id": "X", "outcome": "running", "runs": [{"replica": "a", "outcome": "running"}]}`)
		default:
			_, _ = io.WriteString(w, `{"id": "X", "outcome": "failed", "runs": [{"replica": "a", "outcome": "failed", "exit_code": 7}]}`)
		}
	}))
	t.Cleanup(server.Close)
	c := client.New(server.URL, "admin", "pw")
	req := client.RunRequest{
		Node: "back/end", Component: "api", Operation: "start", Replica: "a", Inputs: map[string]string{"port": "81"}, Timeout: 1.5, Force: true,
	}
	told := 0
	x, err := c.Run(t.Context(), req, func(client.Execution) { told++ })
	if err != nil || x.Outcome != "failed" || *x.Runs[0].ExitCode != 7 || told != 3 {
		t.Errorf("%+v, told %d times, %v", x, told, err)
	}

	asked.Store(2) // it runs, and goes on when the caller does not
	ctx, cancel := context.WithCancel(t.Context())
	x, err = c.Run(ctx, req, func(client.Execution) { cancel() })
	if !errors.Is(err, context.Canceled) || x.ID != "X" {
		t.Errorf("%+v, %v", x, err)
	}
}

func TestWhatIsNotBegunIsAProblem(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"type": "urn:toskose:problem:requirement-not-met", "detail": "it lacks connection"}`)
	}))
	t.Cleanup(server.Close)
	_, err := client.New(server.URL, "admin", "pw").Run(t.Context(), client.RunRequest{Node: "frontend", Component: "gui", Operation: "start"}, func(client.Execution) { t.Error("it was begun") })
	var p *client.Problem
	if !errors.As(err, &p) || p.Status != http.StatusConflict || err.Error() != "it lacks connection" {
		t.Errorf("%v", err)
	}
}

// TestARequestIsSentAgainWhileTheManagerIsReplaced: the manager is gone when it is asked, then
// ends while it answers, and then knows by the id that it was asked before.
func TestARequestIsSentAgainWhileTheManagerIsReplaced(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var ids []string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		ids = append(ids, string(body))
		switch len(ids) {
		case 1:
			panic(http.ErrAbortHandler)
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"type": "urn:toskose:problem:unavailable"}`)
		default:
			_, _ = io.WriteString(w, `{"id": "X", "outcome": "succeeded", "runs": []}`)
		}
	}))
	address := server.Listener.Addr().String()
	if err := server.Listener.Close(); err != nil {
		t.Fatal(err)
	}
	waits, replacing := 0, true
	c := client.With(client.Options{Address: "http://" + address, Patient: func() bool {
		if waits++; waits == 5 { // it was asked in vain by then
			listener, err := net.Listen("tcp", address)
			if err != nil {
				t.Error(err)
			}
			server.Listener = listener
			server.Start()
			t.Cleanup(server.Close)
		}
		return replacing
	}})
	run := func() error {
		x, err := c.Run(t.Context(), client.RunRequest{Node: "backend", Component: "api", Operation: "start"}, func(client.Execution) {})
		if err == nil && x.Outcome != client.OutcomeSucceeded {
			t.Errorf("it ended with %+v", x)
		}
		return err
	}
	err := run()
	mu.Lock()
	if err != nil || len(ids) != 3 || ids[0] != ids[2] || !strings.Contains(ids[0], `"id":"`) {
		t.Errorf("asked %q: %v", ids, err)
	}
	ids, replacing = nil, false
	mu.Unlock()
	err = run()
	mu.Lock()
	defer mu.Unlock()
	if !errors.Is(err, client.ErrNoAnswer) || len(ids) != 1 || strings.Contains(ids[0], `"id"`) {
		t.Errorf("while nothing is replaced, asked %q: %v", ids, err)
	}
}
