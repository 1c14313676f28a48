package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toskose/toskose/unit/wire"
)

// execute posts a body.
func execute(t *testing.T, f *fakeUnit, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := request(t, http.MethodPost, "/executions", body)
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	return serve(New(Options{Unit: f, Logger: quiet(), Limits: Limits{RequestBytes: 400}}), r)
}

// problem reads an answer that must be one, with the status and code wanted.
func problem(t *testing.T, w *httptest.ResponseRecorder, status int, code string) wire.Problem {
	t.Helper()
	var p wire.Problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	if w.Code != status || p.Status != status || p.Title != http.StatusText(status) || p.Code != code || p.Detail == "" {
		t.Errorf("status %d, %+v, want %d %s", w.Code, p, status, code)
	}
	if w.Header().Get("Content-Type") != wire.ProblemType || w.Header().Get("Connection") != "close" {
		t.Errorf("header %v", w.Header())
	}
	return p
}

func TestAnExecutionIsCreatedOnceAndFoundAgain(t *testing.T) {
	t.Parallel()
	f := newFake()
	code := 0
	f.execution = wire.Execution{ID: "a/b c", Outcome: wire.OutcomeSucceeded, Exit: wire.Exit{ExitCode: &code}, Output: wire.Output{Stdout: "\x1b[1m\x00<&>\xff"}, Seq: 1 << 60}
	body := `{"id":"a/b c","component":"api","operation":"Standard.start","by":"me","timeout":1.5,"instance":"i","after":0,"inputs":{"PORT":"80\u0000"}}`
	for _, status := range []int{http.StatusCreated, http.StatusOK} {
		w := execute(t, f, body)
		if w.Code != status || w.Header().Get("Location") != "/executions/a%2Fb%20c" || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("status %d, header %v", w.Code, w.Header())
		}
		var got wire.Execution
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.Stdout != "\x1b[1m\x00<&>\ufffd" || *got.ExitCode != 0 || got.Seq != 1<<60 {
			t.Errorf("%v: %s", err, w.Body)
		}
		f.known = true
	}
	want := wire.ExecuteRequest{
		ID: "a/b c", Component: "api", Operation: "Standard.start", By: "me", Timeout: 1.5, Instance: "i", After: new(uint64),
		Inputs: map[string]string{"PORT": "80\x00"},
	}
	if !reflect.DeepEqual(f.request, want) {
		t.Errorf("the unit got %+v", f.request)
	}
	for _, tt := range []struct{ method, target, asked string }{
		{http.MethodGet, "/executions/a%2Fb%20c?wait=30s", "execution a/b c 30s"},
		{http.MethodGet, "/executions/e1", "execution e1 0s"},
		{http.MethodGet, "/executions/e1?wait=9h", "execution e1 1m0s"},
		{http.MethodHead, "/executions/e1", "execution e1 0s"},
		{http.MethodDelete, "/executions/e1", "cancel e1"},
		{http.MethodGet, "/components", "components false"},
		{http.MethodGet, "/components?processes=true", "components true"},
		{http.MethodGet, "/instance", ""},
	} {
		f := newFake()
		if w := serve(handlerOf(f), request(t, tt.method, tt.target, "")); w.Code != http.StatusOK || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s %s: %d %s", tt.method, tt.target, w.Code, w.Body)
		}
		if got := strings.Join(f.asked(), "; "); got != tt.asked {
			t.Errorf("%s %s asked %q", tt.method, tt.target, got)
		}
	}
}

func TestARequestThatIsNotAnExecutionIsRefused(t *testing.T) {
	t.Parallel()
	for body, says := range map[string]string{
		"":                     "unexpected end of JSON input",
		"{":                    "unexpected end of JSON input",
		"null":                 "needs a component",
		"[]":                   "cannot be this array",
		"{}":                   "needs a component and an operation",
		`{"component":"a"}`:    "needs a component and an operation",
		`{"operation":"a"}`:    "needs a component and an operation",
		`{"component":"a"} {}`: "after top-level value",
		`{"component":"a"}}`:   "after top-level value",
		`{"component":1}`:      `"component" cannot be this number`,
		`{"timeout":"5"}`:      `"timeout" cannot be this string`,
		`{"after":-1}`:         `"after" cannot be this number -1`,
		`{"after":1.5}`:        `"after" cannot be this number 1.5`,
		`{"inputs":["A"]}`:     `"inputs" cannot be this array`,
		`{"inputs":{"A":1}}`:   `"inputs" cannot be this number`,
		`{"colour":"red"}`:     `unknown field "colour"`,
		`component=api`:        "invalid character 'c'",
		`{"timeout":1e999}`:    `"timeout" cannot be this number 1e999`,
		`{"component":"a","operation":"b","timeout":-1}`:                            "-1 is not a timeout in seconds",
		`{"component":"a","operation":"b","timeout":1e10}`:                          "1e+10 is not a timeout in seconds",
		`{"component":"a","operation":"b","id":"` + strings.Repeat("x", 201) + `"}`: "an id has at most 200 bytes",
	} {
		f := newFake()
		p := problem(t, execute(t, f, body), http.StatusBadRequest, "BAD_REQUEST")
		if !strings.Contains(p.Detail, says) || strings.Contains(p.Detail, "json:") || strings.Contains(p.Detail, "Go ") {
			t.Errorf("%s: %s", body, p.Detail)
		}
		if asked := f.asked(); asked != nil {
			t.Errorf("%s: the unit was asked %q", body, asked)
		}
	}
	problem(t, execute(t, newFake(), `{"by":"`+strings.Repeat("x", 400)+`"}`), http.StatusRequestEntityTooLarge, "REQUEST_ENTITY_TOO_LARGE")
	for _, kind := range []string{"", "text/xml", "application/x-www-form-urlencoded", "application/json;;"} {
		r := request(t, http.MethodPost, "/executions", `{"component":"a","operation":"b"}`)
		r.Header.Set("Content-Type", kind)
		problem(t, serve(handlerOf(newFake()), r), http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE")
	}
}

func TestARefusalHasItsStatusAndSaysWhereTheComponentStands(t *testing.T) {
	t.Parallel()
	now := wire.Component{Name: "api", State: "created", Allowed: []string{}, Seq: 9}
	for code, status := range map[wire.FaultCode]int{
		wire.BadName: 404, wire.NotAllowed: 409, wire.Busy: 409, wire.OtherInstance: 412, wire.NewerEntry: 409,
		wire.UndeclaredInput: 422, wire.JournalUnavailable: 503, wire.NoExecution: 404, wire.OtherExecution: 409, wire.ShutdownState: 503,
	} {
		f, detail := newFake(), "a sentence"
		if code == wire.ShutdownState {
			detail = "the unit is shutting down"
		}
		f.err = fmt.Errorf("wrapped: %w", &wire.Fault{Code: code, Detail: "a sentence", Instance: "i1", Component: &now})
		for _, w := range []*httptest.ResponseRecorder{
			execute(t, f, `{"component":"api","operation":"start"}`),
			serve(handlerOf(f), request(t, http.MethodGet, "/executions/e1?wait=1s", "")),
			serve(handlerOf(f), request(t, http.MethodDelete, "/executions/e1", "")),
		} {
			p := problem(t, w, status, code.String())
			if p.Detail != detail || p.UnitInstance != "i1" || p.Component == nil || p.Component.State != "created" || p.Component.Seq != 9 {
				t.Errorf("%v: %+v", code, p)
			}
			if !strings.Contains(w.Body.String(), `"allowed":[]`) || strings.Contains(w.Body.String(), "processes") {
				t.Errorf("%s", w.Body)
			}
			if wire.FaultNamed(p.Code) != code {
				t.Errorf("%s names %d", p.Code, wire.FaultNamed(p.Code))
			}
		}
	}
	f := newFake()
	f.err = wire.NewFault(wire.ShutdownState, "")
	if p := problem(t, execute(t, f, `{"component":"a","operation":"b"}`), 503, "SHUTDOWN_STATE"); p.Detail != "the unit is shutting down" {
		t.Errorf("%+v", p)
	}
	for _, f.err = range []error{errors.New("/proc cannot be read"), context.Canceled} {
		problem(t, serve(handlerOf(f), request(t, http.MethodGet, "/components?processes=1", "")), 503, "SERVICE_UNAVAILABLE")
	}
}

func TestEveryPathOfOursSaysWhatItAnswersTo(t *testing.T) {
	t.Parallel()
	allowed := map[string][]string{
		"/executions": {"POST"}, "/executions/e1": {"GET", "HEAD", "DELETE"}, "/components": {"GET", "HEAD"}, "/instance": {"GET", "HEAD"},
		"/journal": {"GET", "HEAD"}, "/mainlog": {"GET", "HEAD"}, "/log/api:start/stdout": {"GET", "HEAD"}, "/metrics": {"GET", "HEAD"}, "/healthz": {"GET", "HEAD"},
		"/readyz": {"GET", "HEAD"},
		"/livez":  {"GET", "HEAD"},
	}
	for target, methods := range allowed {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
			w := serve(handlerOf(newFake()), request(t, method, target, ""))
			if slices.Contains(methods, method) {
				if w.Code == http.StatusMethodNotAllowed {
					t.Errorf("%s %s: %d", method, target, w.Code)
				}
				continue
			}
			problem(t, w, http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED")
			if got := w.Header().Get("Allow"); got != strings.Join(methods, ", ") {
				t.Errorf("%s %s allows %q", method, target, got)
			}
		}
	}
	problem(t, serve(handlerOf(newFake()), request(t, http.MethodGet, "/execution", "")), 404, "NOT_FOUND")
	problem(t, serve(handlerOf(newFake()), request(t, http.MethodGet, "/components?processes=some", "")), 400, "BAD_REQUEST")
	problem(t, serve(handlerOf(newFake()), request(t, http.MethodGet, "/executions/e1?wait=30", "")), 400, "BAD_REQUEST")
}

// FuzzExecuteRequest asserts a request that can be executed or a refusal.
func FuzzExecuteRequest(f *testing.F) {
	f.Add(`{"id":"e1","component":"api","operation":"start","timeout":1.5,"inputs":{"A":"b"},"after":7}`)
	f.Add(`{"component":"api","operation":"start"}{`)
	f.Add(strings.Repeat("[", 300))
	f.Fuzz(func(t *testing.T, body string) {
		u := newFake()
		w := execute(t, u, body)
		switch {
		case w.Code == http.StatusCreated:
			if r := u.request; r.Component == "" || r.Operation == "" || r.Timeout < 0 || time.Duration(r.Timeout*float64(time.Second)) < 0 {
				t.Errorf("%q became %+v", body, r)
			}
		case w.Code < 400 || w.Code >= 500:
			t.Errorf("%q: status %d", body, w.Code)
		}
	})
}

func TestADocumentIsKeptWithItsRevision(t *testing.T) {
	t.Parallel()
	f := newFake()
	put := func(revision, body string) *httptest.ResponseRecorder {
		r := request(t, http.MethodPut, "/documents/goal", body)
		r.Header.Set("Toskose-Revision", revision)
		return serve(handlerOf(f), r)
	}
	largest := strings.Repeat("x", 64<<10)
	if w := put("7:a", largest); w.Code != http.StatusCreated || w.Body.String() != `{"revision":"7:a"}`+"\n" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	f.known = true
	if w := put("7:a", largest); w.Code != http.StatusOK {
		t.Errorf("again: %d %s", w.Code, w.Body)
	}
	if w := serve(handlerOf(f), request(t, http.MethodGet, "/documents/goal", "")); w.Code != http.StatusOK || w.Body.String() != largest || w.Header().Get("Toskose-Revision") != "7:a" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	problem(t, put("7:a", largest+"x"), http.StatusRequestEntityTooLarge, "REQUEST_ENTITY_TOO_LARGE")
	problem(t, put("", "x"), http.StatusBadRequest, "BAD_REQUEST")
	replacing := request(t, http.MethodPut, "/documents/goal", "x")
	replacing.Header.Set("Toskose-Revision", "8:a")
	replacing.Header.Set("Toskose-Replaces", "9")
	problem(t, serve(handlerOf(f), replacing), http.StatusBadRequest, "BAD_REQUEST")
	f.err = &wire.Fault{Code: wire.OldRevision, Detail: "x", Revision: "9:b"}
	if p := problem(t, put("8:a", "x"), http.StatusConflict, "OLD_REVISION"); p.Revision != "9:b" {
		t.Errorf("the winner is %q", p.Revision)
	}
	if got, want := f.asked(), []string{"put goal 7:a 65536", "put goal 7:a 65536", "document goal", "put goal 8:a 1"}; !slices.Equal(got, want) {
		t.Errorf("the unit was asked for %q", got)
	}
}
