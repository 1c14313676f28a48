package api_test

import (
	"net/http"
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
