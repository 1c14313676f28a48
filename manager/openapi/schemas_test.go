package openapi_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/toskose/toskose/manager/goal"
	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/manager/openapi"
	"github.com/toskose/toskose/manager/rest"
	"github.com/toskose/toskose/unit/wire"
)

// TestSchemasHaveTheFieldsOfTheTypes compares the properties of schemas with the JSON fields of the types that the API
// encodes.
func TestSchemasHaveTheFieldsOfTheTypes(t *testing.T) {
	t.Parallel()
	text, err := openapi.Document("")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Components struct{ Schemas map[string]schema }
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]any{
		"App": rest.App{}, "Node": rest.Node{}, "Component": rest.Component{}, "Operation": rest.Operation{},
		"OperationModel": rest.OperationModel{}, "Process": wire.Process{}, "Lack": rest.Lack{}, "Failing": wire.Failing{},
		"Goal": rest.Goal{}, "Obstacle": goal.Obstacle{}, "Plan": rest.Plan{}, "Lease": rest.Lease{}, "Drain": rest.Drain{},
		"Task": goal.TaskStatus{}, "Part": wire.Part{}, "RunRequest": rest.RunRequest{}, "Execution": rest.Execution{},
		"Run": rest.Run{}, "History": rest.History{}, "Result": rest.Result{}, "Log": rest.Log{}, "Lines": rest.LogPage{},
		"Events": rest.EventPage{}, "Event": mirror.Event{}, "UnitExecution": wire.Execution{}, "Death": wire.Death{},
		"Credentials": rest.Credentials{}, "Problem": rest.Problem{},
	} {
		s, ok := document.Components.Schemas[name]
		if !ok {
			t.Errorf("there is no schema %s", name)
			continue
		}
		compare(t, name, s, reflect.TypeOf(value))
	}
}

// schema is a part of a JSON schema.
type schema struct {
	Ref        string            `json:"$ref"`
	Items      *schema           `json:"items"`
	Properties map[string]schema `json:"properties"`
}

// compare compares the properties of a schema and of its nested objects with a type. It ignores properties without a
// list of properties, and references to other schemas.
func compare(t *testing.T, name string, s schema, of reflect.Type) {
	t.Helper()
	fields := map[string]reflect.Type{}
	addFields(fields, of)
	documented, encoded := slices.Sorted(maps.Keys(s.Properties)), slices.Sorted(maps.Keys(fields))
	if !slices.Equal(documented, encoded) {
		t.Errorf("%s: the document has the properties\n%v, and %s the fields\n%v", name, documented, of, encoded)
	}
	for property, inner := range s.Properties {
		field := fields[property]
		for field != nil && (field.Kind() == reflect.Slice || field.Kind() == reflect.Pointer) {
			field = field.Elem()
		}
		if inner.Items != nil {
			inner = *inner.Items
		}
		if field != nil && field.Kind() == reflect.Struct && inner.Ref == "" && len(inner.Properties) > 0 {
			compare(t, name+"."+property, inner, field)
		}
	}
}

// addFields adds the JSON fields of a struct, including those of embedded structs.
func addFields(fields map[string]reflect.Type, of reflect.Type) {
	for i := range of.NumField() {
		field := of.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && name == "":
			addFields(fields, field.Type)
		case field.IsExported() && name != "-":
			fields[name] = field.Type
		}
	}
}
