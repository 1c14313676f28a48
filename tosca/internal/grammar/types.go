package grammar

import (
	"fmt"
	"slices"

	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/source"
)

// sections are the keywords of documents for types.
var sections = [kinds]string{
	NodeType: "node_types", RelationshipType: "relationship_types", CapabilityType: "capability_types",
	InterfaceType: "interface_types", ArtifactType: "artifact_types", DataType: "data_types",
	GroupType: "group_types", PolicyType: "policy_types",
}

func (r *reader) types(kind Kind) func(*source.Node) {
	return func(n *source.Node) {
		walk := r.byName
		r.inType = true
		defer func() { r.inType = false }()
		if kind == PolicyType { // a list in the table of 1.x (TOSCA 1.3, 3.10.1)
			walk = r.definitions
		}
		r.doc.unread[kind] = !n.IsNull() && n.IsScalar() || n.Kind == source.List && (kind != PolicyType || r.doc.V2())
		walk(n, sections[kind], func(k, v *source.Node) {
			t := &Type{Kind: kind, Name: k.Text, Pos: k.Pos(), Doc: r.doc, Unread: unread(v), written: v}
			of := fmt.Sprintf("%s %q", kind, t.Name)
			if kind == InterfaceType {
				r.interfaceType(t, v, of)
			} else {
				r.fields(v, of, r.typeFields(t, of))
				r.complete(t, of)
				r.notEmpty(t, v.Get("properties"), of)
			}
			r.doc.Types[kind] = append(r.doc.Types[kind], t)
		})
	}
}

// unread reports whether a part of a type has the wrong kind, which is reported
// elsewhere. Members that the type may lack are then not reported.
func unread(n *source.Node) bool {
	if n.IsNull() {
		return false
	}
	if n.Kind != source.Map {
		return true
	}
	for _, key := range []string{"properties", "attributes", "capabilities", "requirements"} {
		part := n.Get(key)
		if part.IsNull() {
			continue
		}
		isEntry := func(item *source.Node) bool { return item.Kind == source.Map }
		if part.IsScalar() || part.Kind == source.List && !slices.ContainsFunc(part.Items, isEntry) && len(part.Items) > 0 {
			return true
		}
	}
	return false
}

// typeFields are the keywords of a type, by its kind (TOSCA 1.3, 3.7; 2.0,
// 6.4.3).
func (r *reader) typeFields(t *Type, of string) []field {
	all := []field{
		{"derived_from", func(n *source.Node) { t.DerivedFrom = r.parent(n, of) }, everyVersion},
		{"version", r.setRef(&t.Version, of+": version"), everyVersion},
		{"properties", r.refining(func(n *source.Node) {
			t.Properties = r.properties(n, of+": properties", r.isFixed)
			if n.Kind == source.Map && len(n.Keys) == 0 {
				t.Empty = n.Pos()
			}
		}), everyVersion},
	}
	attributes := field{"attributes", r.refining(func(n *source.Node) { t.Attributes = r.attributes(n, of+": attributes") }), everyVersion}
	interfaces := field{"interfaces", func(n *source.Node) { t.Interfaces = r.interfaces(n, of) }, everyVersion}
	requirements := field{"requirements", func(n *source.Node) { t.Requirements = r.requirementDefs(n, of) }, everyVersion}
	capabilities := field{"capabilities", func(n *source.Node) { t.Capabilities = r.capabilityDefs(n, of) }, everyVersion}
	refs := func(key string, to *[]Ref, versions in) field {
		return field{key, r.setRefs(to, of+": "+key), versions}
	}
	switch t.Kind {
	case NodeType:
		return append(all, attributes, interfaces, requirements, capabilities,
			field{"artifacts", func(n *source.Node) { t.Artifacts = r.artifacts(n, of) }, everyVersion})
	case RelationshipType:
		return append(all, attributes, interfaces,
			refs("valid_target_types", &t.Targets, first), refs("valid_capability_types", &t.Targets, second),
			refs("valid_source_types", &t.Sources, first), // of a draft
			refs("valid_target_node_types", &t.TargetNodes, second), refs("valid_source_node_types", &t.Sources, second))
	case CapabilityType:
		return append(all, attributes, refs("valid_source_types", &t.Sources, first),
			refs("valid_source_node_types", &t.Sources, second), refs("valid_relationship_types", &t.Relations, second))
	case ArtifactType:
		return append(all, field{"mime_type", r.setRef(&t.MIMEType, of+": mime_type"), everyVersion},
			refs("file_ext", &t.FileExt, everyVersion))
	case DataType:
		return append(all, r.dataFields(t, of)...)
	case GroupType:
		interfaces.in, requirements.in, capabilities.in = first, first, first
		return append(all, attributes, interfaces, requirements, capabilities, refs("members", &t.Targets, everyVersion))
	case PolicyType:
		return append(all, refs("targets", &t.Targets, everyVersion),
			field{"triggers", func(n *source.Node) { t.Triggers = r.triggers(n, of) }, everyVersion})
	default: // read by interfaceType
		return all
	}
}

// parent reads the parent of a type. In 1.x the text derives the root types from a type
// that it never defines, which stands for no parent (TOSCA 1.3, 5.8.3.1 and 5.9.1.3).
func (r *reader) parent(n *source.Node, of string) Ref {
	parent := r.ref(n, of+": derived_from")
	if n != nil && n.Kind == source.String && n.Text == "" {
		r.Errorf(n.Pos(), code.Untyped, "%s: derived_from names no type", of)
	}
	if parent.Name == "tosca.entity.Root" && !r.doc.V2() {
		return Ref{}
	}
	return parent
}

// dataFields are the keywords of data types (TOSCA 1.3, 3.7.6; 2.0, 9.2 and, for
// scalars, 9.1.2.2).
func (r *reader) dataFields(t *Type, of string) []field {
	return []field{
		{"constraints", func(n *source.Node) { t.Constraints = r.constraints(n, of) }, first},
		{"validation", setNode(&t.Validation), second},
		{"key_schema", r.refining(func(n *source.Node) { t.Key = r.schema(n, of+": key_schema") }), everyVersion},
		{"entry_schema", r.refining(func(n *source.Node) { t.Entry = r.schema(n, of+": entry_schema") }), everyVersion},
		{"data_type", r.setRef(&t.Scalar.DataType, of+": data_type"), second},
		{"units", r.setMap(&t.Scalar.Units, of+": units"), second},
		{"prefixes", r.setMap(&t.Scalar.Prefixes, of+": prefixes"), second},
		{"canonical_unit", r.setRef(&t.Scalar.Canonical, of+": canonical_unit"), second},
	}
}

// complete reports what a type without a parent lacks. Other types may inherit it.
func (r *reader) complete(t *Type, of string) {
	if t.DerivedFrom.Name != "" {
		return
	}
	for _, defs := range [][]*Property{t.Properties, t.Attributes} {
		for _, p := range defs {
			if p.Type.Name == "" {
				r.Errorf(p.Pos, code.Untyped, "%s: %q has no type", of, p.Name)
				p.Value, p.Required = nil, false // {} is not a fixed value, but lacks a type
			}
		}
	}
	for _, d := range t.Capabilities {
		if d.Type.Name == "" {
			r.Errorf(d.Pos, code.Untyped, "%s: capability %q has no type", of, d.Name)
		}
	}
	for _, d := range t.Requirements {
		switch {
		case d.Capability.Name == "":
			r.Errorf(d.Pos, code.Untyped, "%s: requirement %q has no capability", of, d.Name)
		case d.Relationship.Name == "" && r.doc.V2() && d.Related.Line != 0:
			r.Errorf(d.Related, code.Untyped, "%s: the relationship of requirement %q has no type", of, d.Name)
		case d.Relationship.Name == "" && r.doc.V2() && !d.Short:
			r.Errorf(d.Pos, code.Untyped, "%s: requirement %q has no relationship", of, d.Name)
		}
	}
	for _, i := range t.Interfaces {
		if i.Type.Name == "" && r.doc.V2() {
			r.Errorf(i.Pos, code.Untyped, "%s: interface %q has no type", of, i.Name)
		}
	}
}

// notEmpty reports a data type with empty properties (TOSCA 1.0, 3.6.5.3; 1.3, 3.7.6.3).
// If it has no parent, that is reported elsewhere.
func (r *reader) notEmpty(t *Type, n *source.Node, of string) {
	if t.Kind == DataType && t.DerivedFrom.Name != "" && !n.IsNull() && n.Kind == source.Map && len(n.Keys) == 0 && !r.doc.V2() {
		r.Errorf(n.Pos(), code.Untyped, "%s: properties must define at least one", of)
	}
}

// interfaceType reads an interface type. Up to 1.2 operations are keywords.
func (r *reader) interfaceType(t *Type, n *source.Node, of string) {
	i := &Interface{Name: t.Name, Pos: t.Pos}
	t.Interfaces = []*Interface{i}
	r.byName(n, of, func(k, v *source.Node) {
		switch k.Text {
		case "derived_from":
			t.DerivedFrom = r.parent(v, of)
		case "version":
			t.Version = r.ref(v, of+": version")
		default:
			r.interfaceKeyword(i, k, v, of)
		}
	})
	r.checkDuplicates(t.Interfaces, of)
	if !r.doc.V2() {
		return
	}
	for _, list := range [][]*Operation{i.Operations, i.Notifications} {
		for _, o := range list {
			if o.Implementation.Name != "" || o.Primary != nil {
				r.Errorf(o.Pos, code.Together, "%s: %q cannot have an implementation where it is first defined (TOSCA 2.0, 11.1)", of, o.Name)
			}
			for _, p := range o.Outputs {
				if p.Mapping != nil {
					r.Errorf(p.Pos, code.Together, "%s: output %q of %q cannot be mapped where it is first defined (TOSCA 2.0, 11.4)", of, p.Name, o.Name)
				}
			}
		}
	}
}
