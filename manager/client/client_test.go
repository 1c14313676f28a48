package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toskose/toskose/manager/client"
)

func TestWhatIsAskedAndAnswered(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "admin" || password != "pw" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		body, _ := io.ReadAll(r.Body)
		switch r.Method + " " + r.URL.Path + " " + string(body) {
		case `PUT /api/v1/app/goal {"state":"up"}`:
			w.WriteHeader(http.StatusAccepted)
			_ = json.NewEncoder(w).Encode(map[string]any{"state": "up", "lacking": []string{"a"}})
		case `PATCH /api/v1/app/goal {"states":{"api":"down"}}`:
			_ = json.NewEncoder(w).Encode(map[string]any{"acting": true})
		case "GET /api/v1/app/goal ":
			_ = json.NewEncoder(w).Encode(map[string]any{"acting": true, "done": asked.Add(1) > 2})
		default:
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = io.WriteString(w, `{"type": "urn:toskose:problem:invalid-request", "detail": "what is `+r.Method+`?"}`)
		}
	}))
	t.Cleanup(server.Close)
	c := client.New(server.URL+"/", "admin", "pw")
	if g, kept, err := c.SetGoal(t.Context(), "up", nil); err != nil || kept || len(g.Lacking) != 1 {
		t.Errorf("set: %+v, %v, %v", g, kept, err)
	}
	if _, kept, err := c.AddToGoal(t.Context(), map[string]string{"api": "down"}); err != nil || !kept {
		t.Errorf("add: %v, %v", kept, err)
	}
	told := 0
	if g, err := c.AwaitGoal(t.Context(), func(client.Goal) { told++ }); err != nil || !g.Done || told != 3 {
		t.Errorf("await: %+v, told %d times, %v", g, told, err)
	}
	var p *client.Problem
	if _, err := c.App(t.Context()); !errors.As(err, &p) || p.Type != "urn:toskose:problem:invalid-request" || err.Error() != "what is GET?" {
		t.Errorf("app: %v", err)
	}
	if _, err := client.New(server.URL, "admin", "wrong").Goal(t.Context()); !errors.As(err, &p) || p.Status != http.StatusUnauthorized {
		t.Errorf("with a wrong password: %v", err)
	}
	server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := c.Goal(ctx); err == nil {
		t.Error("nobody answers, and there is a goal")
	}
}
