package openapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/toskose/toskose/manager/openapi"
)

// TestTheDocumentSaysHowCallersAreRefused wherever somebody has to be known.
func TestTheDocumentSaysHowCallersAreRefused(t *testing.T) {
	t.Parallel()
	text, err := openapi.Document("1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	document, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := document.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	if document.Info.Version != "1.2.3" {
		t.Errorf("its version is %s", document.Info.Version)
	}
	for path, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			isOpen := !strings.HasPrefix(path, "/api/") && path != "/metrics"
			if refused := operation.Responses.Value("401") != nil; refused == isOpen {
				t.Errorf("%s %s refuses who is not known: %v", method, path, refused)
			}
			if forbidden := operation.Responses.Value("403") != nil; forbidden != (!isOpen && method != http.MethodGet) && path != "/api/v1/credentials" {
				t.Errorf("%s %s forbids what roles do not allow: %v", method, path, forbidden)
			}
		}
	}
}

func TestThePagesNeedNoInternet(t *testing.T) {
	t.Parallel()
	answer := httptest.NewRecorder()
	openapi.Pages().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/docs/", http.NoBody))
	page := answer.Body.String()
	if !strings.Contains(page, "swagger-ui") {
		t.Errorf("answered %d:\n%s", answer.Code, page)
	}
	for _, attribute := range []string{`src="http`, `href="http`, "src=\"//"} {
		if strings.Contains(page, attribute) {
			t.Errorf("the page has %s", attribute)
		}
	}
}
