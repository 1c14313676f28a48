package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestTheEmbeddedScriptsAreAddedToTheSBOM(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(strings.NewReader(`{"bomFormat": "CycloneDX", "components": [{"name": "a"}]}`), &out); err != nil {
		t.Fatal(err)
	}
	var bom struct {
		BOMFormat  string `json:"bomFormat"`
		Components []component
	}
	if err := json.Unmarshal(out.Bytes(), &bom); err != nil {
		t.Fatal(err)
	}
	if bom.BOMFormat != "CycloneDX" || len(bom.Components) != 2 || bom.Components[0].Name != "a" {
		t.Fatalf("%s", out.String())
	}
	ui := bom.Components[1]
	if ui.Name != "swagger-ui-dist" || !strings.HasPrefix(ui.Version, "5.") || ui.PackageURL != "pkg:npm/swagger-ui-dist@"+ui.Version || len(ui.Hashes) != 1 || len(ui.Hashes[0].Content) != 64 {
		t.Errorf("%+v", ui)
	}
	if err := run(strings.NewReader("{"), &out); err == nil {
		t.Error("input that is not an SBOM is accepted")
	}
}
