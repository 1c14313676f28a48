package openapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toskose/toskose/manager/openapi"
)

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
