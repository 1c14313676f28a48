package schema

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"

	"github.com/toskose/toskose/internal/docs"
	"github.com/toskose/toskose/operator/levels"
	"github.com/toskose/toskose/operator/manifests"
)

// levelSchema returns the schema of a kind as one that also refuses unknown fields, which an API server drops.
func levelSchema(t *testing.T, apiVersion, kind string) *jsonschema.Schema {
	t.Helper()
	structure, err := levels.Parse("assemblyline,asset", levels.LevelGroup)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range structure.Kinds() {
		if k.APIVersion() != apiVersion || k.Kind != kind {
			continue
		}
		data, err := json.Marshal(manifests.SchemaOf(structure, k))
		if err != nil {
			t.Fatal(err)
		}
		var schema map[string]any
		if err := json.Unmarshal(data, &schema); err != nil {
			t.Fatal(err)
		}
		closeObjects(schema)
		c := jsonschema.NewCompiler()
		if err := c.AddResource("kind.json", schema); err != nil {
			t.Fatal(err)
		}
		return c.MustCompile("kind.json")
	}
	t.Fatalf("there is no kind %s %s", apiVersion, kind)
	return nil
}

// closeObjects makes objects refuse other properties than those of the schema.
func closeObjects(schema map[string]any) {
	properties, _ := schema["properties"].(map[string]any)
	if properties != nil {
		schema["additionalProperties"] = false
	}
	for _, p := range properties {
		closeObjects(p.(map[string]any))
	}
	if items, ok := schema["items"].(map[string]any); ok {
		closeObjects(items)
	}
}

func checkResource(t *testing.T, name string, data []byte) {
	t.Helper()
	document, err := yaml.YAMLToJSON(data)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var o struct{ APIVersion, Kind string }
	if err := json.Unmarshal(document, &o); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	schema := levelSchema(t, o.APIVersion, o.Kind)
	var without map[string]any
	if err := json.Unmarshal(document, &without); err != nil {
		t.Fatal(err)
	}
	without["metadata"] = map[string]any{} // the API server's own
	if err := schema.Validate(without); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

func TestTheOperatorsResourcesInTheDocumentationAreValid(t *testing.T) {
	t.Parallel()
	for _, b := range docs.Of(t, docs.Level) {
		checkResource(t, b.Page, []byte(b.Text))
	}
}

func TestTheExampleOfAPlantIsValid(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../examples/plant/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are %d files: %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		checkResource(t, file, data)
	}
}
