package manifests

import (
	"maps"

	"github.com/toskose/toskose/operator/levels"
)

// Schema is a structural schema of a CustomResourceDefinition (OpenAPI v3 with Kubernetes' extensions).
type Schema map[string]any

// entryName is the form of the names in lists: each is part of an object's name.
const entryName = `^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`

// maxEntry is the maximum length of such a name.
const maxEntry = 52

func described(s Schema, text string) Schema {
	out := maps.Clone(s)
	out["description"] = text
	return out
}

func text() Schema { return Schema{"type": "string"} }

func boolean() Schema { return Schema{"type": "boolean"} }

func number() Schema { return Schema{"type": "integer", "format": "int32", "minimum": 0} }

func oneOf(values ...string) Schema { return Schema{"type": "string", "enum": values} }

func name() Schema {
	return Schema{"type": "string", "pattern": entryName, "maxLength": maxEntry}
}

func object(required []string, properties map[string]Schema) Schema {
	s := Schema{"type": "object", "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// list is a list whose entries have distinct names.
func list(item Schema) Schema {
	return Schema{"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []string{"name"}}
}

func words() Schema {
	return Schema{"type": "array", "items": text(), "x-kubernetes-list-type": "atomic"}
}

func stringMap() Schema { return Schema{"type": "object", "additionalProperties": text()} }

// link is a list of components that messages are exchanged with.
func link(of string) Schema {
	return described(list(object([]string{"name", "IFMHtopic"}, map[string]Schema{
		"name":      text(),
		"IFMHtopic": described(text(), "The topic of the message hub between the two components."),
	})), of)
}

func flow() Schema {
	return described(object([]string{"previous", "next"}, map[string]Schema{
		"previous": link("The components whose messages this one receives."),
		"next":     link("The components that receive this one's messages."),
	}), "The place of the component in the application's flow of messages.")
}

// workload is a Deployment, StatefulSet or Job. Its spec is checked when the operator applies it.
func workload() Schema {
	return described(object([]string{"kind", "spec"}, map[string]Schema{
		"kind": oneOf("Deployment", "StatefulSet", "Job"),
		"metadata": object(nil, map[string]Schema{
			"name": text(), "labels": stringMap(), "annotations": stringMap(),
		}),
		"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
	}), "The workload of the component. Without one, it is a Deployment of the image.")
}

func customization() Schema {
	return described(words(), "Lines for the component, in TOSKOSE_CUSTOMIZATION or in the file of a permanent component.")
}

// componentSpec is the spec of a Component, and an entry of an Application's list.
func componentSpec() map[string]Schema {
	return map[string]Schema{
		"name":          name(),
		"image":         {"type": "string", "minLength": 1},
		"flowConfig":    flow(),
		"customization": customization(),
		"permanent":     described(boolean(), "Whether the component is shared by all applications of the namespace, and outlives them."),
		"permanentCM":   described(name(), "The name of a permanent component's ConfigMap. The default is cm-NAME."),
		"replicas":      described(number(), "The number of replicas. The default is the application's, or 1."),
		"workload":      workload(),
	}
}

var componentRequires = []string{"name", "image", "flowConfig"}

// applicationSpec is the spec of an Application without its upper resource.
func applicationSpec() map[string]Schema {
	return map[string]Schema{
		"name":       name(),
		"deploy":     described(boolean(), "Whether the application's components exist. Otherwise it is only stored."),
		"replicas":   described(number(), "The number of replicas of components that have none of their own."),
		"components": list(object(componentRequires, componentSpec())),
	}
}

var applicationRequires = []string{"name", "deploy", "replicas", "components"}

// specOf returns the spec of a kind.
func specOf(s levels.Structure, of levels.Kind) Schema {
	switch of {
	case levels.Component:
		all := componentSpec()
		all["users"] = described(list(object([]string{"name", "flowConfig"}, map[string]Schema{
			"name": name(), "flowConfig": flow(), "customization": customization(),
		})), "The applications that use a permanent component, each with its configuration.")
		return object(componentRequires, all)
	case levels.Application:
		all := applicationSpec()
		all["upper"] = described(object([]string{"kind", "name"}, map[string]Schema{
			"kind": described(text(), "The kind of the lowest level."), "name": text(),
		}), "The resource above an application that no level lists.")
		return object(applicationRequires, all)
	default:
		return levelSpec(s, of)
	}
}

// levelSpec returns the spec of a level, with the complete specs of everything below it.
func levelSpec(s levels.Structure, of levels.Kind) Schema {
	place, _ := s.Find(of.Singular)
	lower := *place.Lower
	var entry Schema
	if lower == levels.Application {
		all := applicationSpec()
		all["namespace"] = described(Schema{"type": "string", "pattern": entryName, "maxLength": 63}, "The application's namespace, which has the label toskose.io/levels: enabled.")
		entry = object(applicationRequires, all)
	} else {
		entry = levelSpec(s, lower)
	}
	return object([]string{"name", "deploy", lower.Plural}, map[string]Schema{
		"name":       name(),
		"deploy":     described(boolean(), "Whether the resources below exist. Otherwise this one is only stored."),
		lower.Plural: list(entry),
	})
}

// statusOf returns the status of a kind.
func statusOf(s levels.Structure, of levels.Kind) Schema {
	situation := oneOf(levels.Deploying, levels.Running, levels.Stored)
	all := map[string]Schema{
		"observedGeneration": {"type": "integer", "format": "int64"},
		"conditions":         conditions(),
	}
	if of == levels.Component {
		all["replicas"] = number()
		all["situation"] = situation
		return object(nil, all)
	}
	place, _ := s.Find(of.Singular)
	all["ready"] = situation
	all["deployed"] = described(boolean(), "Whether this resource, and all above it, are to be deployed.")
	all[place.Lower.Plural] = list(object([]string{"name", "situation"}, map[string]Schema{"name": text(), "situation": situation}))
	if of == levels.Application {
		all["replicas"] = number()
	}
	return object(nil, all)
}

func conditions() Schema {
	s := list(object([]string{"type", "status", "reason", "message", "lastTransitionTime"}, map[string]Schema{
		"type": text(), "status": oneOf("True", "False", "Unknown"), "reason": text(), "message": text(),
		"observedGeneration": {"type": "integer", "format": "int64"},
		"lastTransitionTime": {"type": "string", "format": "date-time"},
	}))
	s["x-kubernetes-list-map-keys"] = []string{"type"}
	return s
}

// SchemaOf returns the schema of a kind.
func SchemaOf(s levels.Structure, of levels.Kind) Schema {
	return object([]string{"spec"}, map[string]Schema{
		"apiVersion": text(), "kind": text(), "metadata": {"type": "object"},
		"spec": specOf(s, of), "status": statusOf(s, of),
	})
}
