package api_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/go-chi/chi/v5"

	"github.com/toskose/toskose/manager/api"
)

// documented is the OpenAPI document, which the answers of all tests are held
// against. Its objects are closed for them, so that an answer has nothing that is
// not documented.
var documented = sync.OnceValues(func() (*openapi3.T, error) {
	g, err := everybody()
	if err != nil {
		return nil, err
	}
	h, err := api.New(&app{}, api.Options{Access: g, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	served := httptest.NewRecorder()
	h.ServeHTTP(served, httptest.NewRequest(http.MethodGet, "/openapi.json", http.NoBody))
	document, err := openapi3.NewLoader().LoadFromData(served.Body.Bytes())
	if err != nil {
		return nil, err
	}
	if err := document.Validate(context.Background()); err != nil {
		return nil, err
	}
	closeAll(document)
	return document, nil
})

// closeAll closes the objects that have a name, and those of bodies.
func closeAll(document *openapi3.T) {
	seen := map[*openapi3.Schema]bool{}
	for _, s := range document.Components.Schemas {
		closeObjects(s, seen)
	}
	for _, item := range document.Paths.Map() {
		for _, operation := range item.Operations() {
			if operation.RequestBody != nil {
				closeContent(operation.RequestBody.Value.Content, seen)
			}
			for _, response := range operation.Responses.Map() {
				closeContent(response.Value.Content, seen)
			}
		}
	}
}

func closeContent(content openapi3.Content, seen map[*openapi3.Schema]bool) {
	for _, media := range content {
		closeObjects(media.Schema, seen)
	}
}

// closeObjects forbids properties that an object does not declare, unless it
// declares none.
func closeObjects(ref *openapi3.SchemaRef, seen map[*openapi3.Schema]bool) {
	if ref == nil || ref.Value == nil || seen[ref.Value] {
		return
	}
	s := ref.Value
	seen[s] = true
	if extra := &s.AdditionalProperties; len(s.Properties) > 0 && extra.Has == nil && extra.Schema == nil {
		extra.Has = new(bool)
	}
	closeObjects(s.Items, seen)
	closeObjects(s.AdditionalProperties.Schema, seen)
	for _, p := range s.Properties {
		closeObjects(p, seen)
	}
	for _, one := range slices.Concat(s.OneOf, s.AnyOf) {
		closeObjects(one, seen)
	}
}

func document(t *testing.T) *openapi3.T {
	t.Helper()
	d, err := documented()
	if err != nil {
		t.Fatalf("openapi.yaml: %v", err)
	}
	return d
}

// undocumented are answers that any path may give: to pages of other sites, and by
// mistake.
var undocumented = map[int]bool{http.StatusForbidden: true, http.StatusInternalServerError: true}

// pattern returns the path of the document that a request is for; empty: none.
func pattern(h http.Handler, method, path string) string {
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	if method == http.MethodHead {
		method = http.MethodGet
	}
	found := chi.NewRouteContext()
	if !h.(*api.Handler).Router().Match(found, method, path) || path == "/" || strings.HasPrefix(path, "/docs") || strings.HasPrefix(path, "/web/") {
		return ""
	}
	return found.RoutePattern()
}

// honour fails the test if an answer is not as the document says.
func honour(t *testing.T, h http.Handler, r *http.Request, w *httptest.ResponseRecorder) {
	t.Helper()
	path := pattern(h, r.Method, r.URL.EscapedPath())
	if path == "" || r.Method == http.MethodHead || undocumented[w.Code] {
		return
	}
	d := document(t)
	item := d.Paths.Value(path)
	if item == nil || item.GetOperation(r.Method) == nil {
		t.Errorf("%s %s is not documented", r.Method, path)
		return
	}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, Route: &routers.Route{
			Spec: d, Path: path, PathItem: item, Method: r.Method, Operation: item.GetOperation(r.Method),
		}},
		Status: w.Code, Header: w.Header(), Body: io.NopCloser(strings.NewReader(w.Body.String())),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	if err := openapi3filter.ValidateResponse(context.WithoutCancel(t.Context()), input); err != nil {
		t.Errorf("%s %s: %d is not as documented: %v\n%.2000s", r.Method, r.URL, w.Code, err, w.Body)
	}
}
