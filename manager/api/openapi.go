package api

import (
	_ "embed" // the document
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/swaggest/swgui"
	"github.com/swaggest/swgui/v5emb"
	"gopkg.in/yaml.v3"
)

//go:embed openapi.yaml
var openAPIDocument []byte

// openAPI returns the document as JSON, with the version of this manager.
func openAPI(version string) ([]byte, error) {
	var document map[string]any
	if err := yaml.Unmarshal(openAPIDocument, &document); err != nil {
		return nil, fmt.Errorf("openapi.yaml: %w", err)
	}
	if info, ok := document["info"].(map[string]any); ok && version != "" {
		info["version"] = version
	}
	return json.MarshalIndent(document, "", "  ")
}

func (s *server) serveOpenAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(s.openapi)
}

// docs serves the Swagger UI with all that it needs, so that it works offline.
func docs() http.Handler {
	return v5emb.NewHandlerWithConfig(swgui.Config{
		Title: "Toskose manager", SwaggerJSON: "/openapi.json", BasePath: "/docs/",
		HideCurl: false, JsonEditor: false,
	})
}
