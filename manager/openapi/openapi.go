// Package openapi has the OpenAPI document of the manager's API, and pages to read it and try the API.
package openapi

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the document
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"

	"github.com/swaggest/swgui"
	"github.com/swaggest/swgui/v5emb"
	"gopkg.in/yaml.v3"
)

//go:embed openapi.yaml
var text []byte

// Document returns the document as JSON, with the version of this manager.
func Document(version string) ([]byte, error) {
	var document map[string]any
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("openapi.yaml: %w", err)
	}
	if info, ok := document["info"].(map[string]any); ok && version != "" {
		info["version"] = version
	}
	guard(document)
	return json.MarshalIndent(document, "", "  ")
}

// guard adds the responses that all protected operations share: for rejected callers and invalid bodies.
func guard(document map[string]any) {
	paths, _ := document["paths"].(map[string]any)
	for _, item := range paths {
		operations, _ := item.(map[string]any)
		for method, value := range operations {
			operation, _ := value.(map[string]any)
			responses, isOperation := operation["responses"].(map[string]any)
			if _, open := operation["security"]; open || !isOperation {
				continue
			}
			refusals := map[string]string{"401": "Unauthorized", "408": "Incomplete", "413": "TooLarge", "429": "TooManyLogins", "503": "Unreachable"}
			if method != "get" {
				refusals["403"] = "Forbidden" // every role may read, and pages of other sites cannot see the response
			}
			for status, name := range refusals {
				responses[status] = map[string]any{"$ref": "#/components/responses/" + name}
			}
		}
	}
}

// Pages serves the Swagger UI below /docs, self-contained so that it works offline. Its policy only allows its own
// scripts and the page's inline scripts, by digest.
func Pages() http.Handler {
	pages := v5emb.NewHandlerWithConfig(swgui.Config{
		Title: "Toskose manager", SwaggerJSON: "/openapi.json", BasePath: "/docs/",
		HideCurl: false, JsonEditor: false,
	})
	page := &seen{header: http.Header{}}
	pages.ServeHTTP(page, &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/docs/"}})
	policy := "default-src 'none'; connect-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; script-src 'self'"
	for _, script := range inlineScript.FindAllSubmatch(page.Bytes(), -1) {
		sum := sha256.Sum256(script[1])
		policy += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		pages.ServeHTTP(w, r)
	})
}

var inlineScript = regexp.MustCompile(`(?s)<script>(.*?)</script>`)

// seen is a recorded response.
type seen struct {
	bytes.Buffer
	header http.Header
}

func (s *seen) Header() http.Header { return s.header }
func (s *seen) WriteHeader(int)     {}
