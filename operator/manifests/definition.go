package manifests

import "github.com/toskose/toskose/operator/levels"

// column is a column of `kubectl get`.
type column struct {
	Name string `yaml:"name"`
	Type string `yaml:"type"`
	Path string `yaml:"jsonPath"`
}

// columnsOf returns the columns of a kind.
func columnsOf(of levels.Kind) []column {
	age := column{"Age", "date", ".metadata.creationTimestamp"}
	deploy, ready := column{"Deploy", "boolean", ".spec.deploy"}, column{"Ready", "string", ".status.ready"}
	switch of {
	case levels.Component:
		return []column{{"Image", "string", ".spec.image"}, {"Replicas", "integer", ".status.replicas"}, {"Situation", "string", ".status.situation"}, age}
	case levels.Application:
		return []column{{"Replicas", "integer", ".status.replicas"}, deploy, ready, age}
	default:
		return []column{deploy, ready, age}
	}
}

// definition returns the CustomResourceDefinition of a kind.
func definition(s levels.Structure, of levels.Kind) map[string]any {
	scope := "Cluster"
	if of.Namespaced {
		scope = "Namespaced"
	}
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": of.Resource(), "labels": labels("")},
		"spec": map[string]any{
			"group": of.Group, "scope": scope,
			"names": map[string]any{
				"kind": of.Kind, "listKind": of.Kind + "List", "singular": of.Singular, "plural": of.Plural, "categories": []string{"toskose"},
			},
			"versions": []any{map[string]any{
				"name": levels.Version, "served": true, "storage": true,
				"subresources":             map[string]any{"status": map[string]any{}},
				"additionalPrinterColumns": columnsOf(of),
				"schema":                   map[string]any{"openAPIV3Schema": SchemaOf(s, of)},
			}},
		},
	}
}
