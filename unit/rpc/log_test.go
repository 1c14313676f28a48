package rpc

import (
	"net/http"
	"slices"
	"testing"

	"github.com/toskose/toskose/unit"
	"github.com/toskose/toskose/unit/wire"
)

func TestAPieceOfALogComesWithItsCursor(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.page = unit.LogPage{Data: []byte("a\xff\x00\n"), Next: "L.1.4"}
	h := handlerOf(f)
	w := serve(h, request(t, http.MethodGet, "/log/api:create/stderr?after=L.0.9&wait=30s", ""))
	if w.Code != http.StatusOK || w.Body.String() != "a\xff\x00\n" || w.Header().Get("Toskose-Cursor") != "L.1.4" ||
		w.Header().Get("Toskose-Gap") != "" || w.Header().Get("Content-Length") != "4" {
		t.Errorf("%d %q %v", w.Code, w.Body, w.Header())
	}
	f.page.Gap = true
	w = serve(h, request(t, http.MethodGet, "/mainlog?wait=1h", ""))
	if w.Code != http.StatusOK || w.Header().Get("Toskose-Gap") != "true" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	want := []string{`page api:create stderr "L.0.9" 30s`, `page "" 1m0s`}
	if got := f.asked(); !slices.Equal(got, want) {
		t.Errorf("the unit was asked %q, want %q", got, want)
	}
}

func TestAPieceOfNoLogIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, target string
		err            error
		want           int
	}{
		{http.MethodGet, "/log/api:create", nil, http.StatusNotFound},
		{http.MethodGet, "/log/api:create/stdin", nil, http.StatusNotFound},
		{http.MethodGet, "/log/api:create/stdout/", nil, http.StatusNotFound},
		{http.MethodGet, "/log/api:create/stdout?wait=x", nil, http.StatusBadRequest},
		{http.MethodGet, "/mainlog?wait=-1s", nil, http.StatusBadRequest},
		{http.MethodGet, "/mainlog/x", nil, http.StatusNotFound},
		{http.MethodPost, "/mainlog", nil, http.StatusMethodNotAllowed},
		{http.MethodPost, "/log/api:create/stdout", nil, http.StatusMethodNotAllowed},
		{http.MethodPost, "/metrics", nil, http.StatusMethodNotAllowed},
		{http.MethodGet, "/log/x/stdout", wire.NewFault(wire.BadName, "x"), http.StatusNotFound},
		{http.MethodGet, "/mainlog", wire.NewFault(wire.NoFile, ""), http.StatusNotFound},
		{http.MethodGet, "/mainlog?after=x", wire.NewFault(wire.BadArguments, "x"), http.StatusBadRequest},
		{http.MethodGet, "/mainlog", wire.NewFault(wire.ShutdownState, ""), http.StatusServiceUnavailable},
	} {
		f := newFake()
		f.err = c.err
		if w := serve(handlerOf(f), request(t, c.method, c.target, "")); w.Code != c.want {
			t.Errorf("%s %s: %d %s", c.method, c.target, w.Code, w.Body)
		}
	}
}

func TestMetricsHaveTheirContentType(t *testing.T) {
	t.Parallel()
	w := serve(handlerOf(newFake()), request(t, http.MethodGet, "/metrics", ""))
	if w.Code != http.StatusOK || w.Body.String() != "# EOF\n" ||
		w.Header().Get("Content-Type") != "application/openmetrics-text; version=1.0.0; charset=utf-8" {
		t.Errorf("%d %q %v", w.Code, w.Body, w.Header())
	}
}
