package api_test

import (
	"errors"
	"log/slog"
	"net/http"
	"testing"

	"github.com/toskose/toskose/manager/api"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/unit/wire"
)

// TestAnotherApplicationIsServedWithTheSameAnswers: requests that arrive meanwhile wait for it, and a repeated request
// gets the answer of the application before.
func TestAnotherApplicationIsServedWithTheSameAnswers(t *testing.T) {
	t.Parallel()
	before := &app{outcome: rest.Execution{ID: "before", Outcome: wire.OutcomeSucceeded}}
	after := &app{outcome: rest.Execution{ID: "after", Outcome: wire.OutcomeSucceeded}}
	h, err := api.New(before, api.Options{Access: gate(t), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	run := func(component, key string) string {
		return ask(t, h, "POST", "/api/v1/node/backend/"+component+"/start", "", "Idempotency-Key: "+key).Body.String()
	}
	first := run("api", "k1")
	if err := h.Replace(func() (api.Application, error) { return nil, errors.New("no") }); err == nil || run("api", "k2") == "" || before.start.Component != "api" {
		t.Errorf("after a replacement that failed: %v, %+v", err, before.start)
	}
	answered := make(chan string)
	err = h.Replace(func() (api.Application, error) {
		go func() { answered <- run("gui", "k3") }()
		return after, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	<-answered
	if after.start.Component != "gui" || before.start.Component != "api" {
		t.Errorf("it went to the application before: %+v", before.start)
	}
	if again := run("api", "k1"); again != first || after.start.Component != "gui" {
		t.Errorf("the repeated request: %s, want %s", again, first)
	}
	if status := ask(t, h, "GET", "/api/v1/app", "").Code; status != http.StatusOK {
		t.Errorf("status %d", status)
	}
}
