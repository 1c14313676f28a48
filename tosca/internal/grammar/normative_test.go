package grammar_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
)

// normative are the types of TOSCA 1.3, 5.3 to 5.11; behind each what it is
// derived from.
var normative = map[grammar.Kind]string{
	grammar.DataType: `Root json<string xml<string Credential TimeInterval network.NetworkInfo network.PortInfo
		network.PortDef<integer network.PortSpec`,
	grammar.ArtifactType: `Root File Deployment Deployment.Image<Deployment Deployment.Image.Container<Deployment.Image
		Deployment.Image.Container.Docker<Deployment.Image.Container Deployment.Image.VM<Deployment.Image
		Deployment.Image.VM.ISO<Deployment.Image.VM Deployment.Image.VM.QCOW2<Deployment.Image.VM Implementation
		Implementation.Bash<Implementation Implementation.Python<Implementation template template.Jinja2<template
		template.Twig<template`,
	grammar.CapabilityType: `Root Node Container Compute<Container Container.Docker<Container Network Storage Endpoint
		Endpoint.Public<Endpoint Endpoint.Admin<Endpoint Endpoint.Database<Endpoint Attachment OperatingSystem Scalable
		network.Bindable<Node network.Linkable<Node`,
	grammar.RelationshipType: `Root DependsOn HostedOn ConnectsTo AttachesTo RoutesTo<ConnectsTo network.LinksTo<DependsOn
		network.BindsTo<DependsOn`,
	grammar.InterfaceType: `Root node.lifecycle.Standard relationship.Configure`,
	grammar.NodeType: `Root Abstract.Compute Compute<Abstract.Compute SoftwareComponent WebServer<SoftwareComponent WebApplication
		DBMS<SoftwareComponent Database Abstract.Storage Storage.ObjectStorage<Abstract.Storage
		Storage.BlockStorage<Abstract.Storage Container.Runtime<SoftwareComponent Container.Application LoadBalancer network.Network network.Port`,
	grammar.GroupType:  `Root`,
	grammar.PolicyType: `Root Placement Scaling Update Performance`,
}

var normativeBase = map[grammar.Kind]string{
	grammar.DataType: "tosca.datatypes.", grammar.ArtifactType: "tosca.artifacts.", grammar.CapabilityType: "tosca.capabilities.",
	grammar.RelationshipType: "tosca.relationships.", grammar.InterfaceType: "tosca.interfaces.", grammar.NodeType: "tosca.nodes.",
	grammar.GroupType: "tosca.groups.", grammar.PolicyType: "tosca.policies.",
}

func normativeDocument(t *testing.T) *grammar.Document {
	t.Helper()
	docs, list := load(t, &txtar.Archive{Files: []txtar.File{{Name: "app.yaml", Data: []byte("tosca_definitions_version: tosca_simple_yaml_1_3\n")}}})
	if len(list) > 0 || len(docs) != 2 {
		t.Fatalf("%d documents, %v", len(docs), list)
	}
	return docs[1]
}

func TestTheNormativeTypesAreThoseOfTheStandard(t *testing.T) {
	t.Parallel()
	doc := normativeDocument(t)
	for kind, list := range normative {
		base, found := normativeBase[kind], 0
		for _, entry := range strings.Fields(list) {
			name, parent, derived := strings.Cut(entry, "<")
			full := parent
			switch {
			case derived && doc.Scope().Lookup(kind, base+parent) != nil:
				full = base + parent
			case !derived && name != "Root":
				full = base + "Root"
			}
			found++
			if got := doc.Scope().Lookup(kind, base+name); got == nil || got.Name != base+name || got.DerivedFrom.Name != full {
				t.Errorf("%s %q is %+v, and should be derived from %q", kind, base+name, got, full)
			}
		}
		if names := doc.Scope().Names(kind); len(names) != found {
			t.Errorf("%ss are %d, not %d: %q", kind, len(names), found, names)
		}
	}
}

// A document may mix the names of several versions: both mean one type.
func TestTypesThatWereRenamedAreOneTypeByBothNames(t *testing.T) {
	t.Parallel()
	docs, list := load(t, &txtar.Archive{Files: []txtar.File{{Name: "app.yaml", Data: []byte("tosca_definitions_version: tosca_simple_yaml_1_0\n")}}})
	if len(list) > 0 {
		t.Fatal(list)
	}
	for kind, names := range map[grammar.Kind][][]string{
		grammar.NodeType: {
			{"tosca.nodes.Storage.BlockStorage", "tosca.nodes.BlockStorage", "BlockStorage", "tosca:BlockStorage", "Storage.BlockStorage", "tosca:tosca.nodes.BlockStorage"},
			{"tosca.nodes.Storage.ObjectStorage", "tosca.nodes.ObjectStorage", "ObjectStorage", "tosca:ObjectStorage"},
			{"tosca.nodes.Abstract.Storage", "AbstractStorage", "Abstract.Storage", "tosca:Abstract.Storage"},
		},
		grammar.ArtifactType: {{"tosca.artifacts.template.Jinja2", "Template.Jinja2", "tosca:template.jinja2", "template.Jinja2"}},
	} {
		for _, same := range names {
			for _, name := range same {
				if found := docs[0].Scope().Lookup(kind, name); found == nil || found.Name != same[0] {
					t.Errorf("%s %q is %+v, and should be %q", kind, name, found, same[0])
				}
			}
		}
	}
}

// Whatever a normative type names is there.
func TestTheNormativeTypesAreWhole(t *testing.T) {
	t.Parallel()
	doc := normativeDocument(t)
	known := func(t *testing.T, of *grammar.Type, kind grammar.Kind, refs ...grammar.Ref) {
		t.Helper()
		for _, ref := range refs {
			if builtin := kind == grammar.DataType && slices.Contains(data.TypeNames(doc), ref.Name); ref.Name != "" && !builtin && doc.Scope().Lookup(kind, ref.Name) == nil {
				t.Errorf("%s %q names %s %q, which is not there", of.Kind, of.Name, kind, ref.Name)
			}
		}
	}
	for kind, types := range doc.Types {
		for _, typ := range types {
			known(t, typ, grammar.Kind(kind), typ.DerivedFrom)
			for _, p := range slices.Concat(typ.Properties, typ.Attributes) {
				known(t, typ, grammar.DataType, p.Type, p.EntryType)
			}
			for _, r := range typ.Requirements {
				known(t, typ, grammar.CapabilityType, r.Capability)
				known(t, typ, grammar.NodeType, r.Node)
				known(t, typ, grammar.RelationshipType, r.Relationship)
			}
			for _, c := range typ.Capabilities {
				known(t, typ, grammar.CapabilityType, c.Type)
				known(t, typ, grammar.NodeType, c.Sources...)
			}
			for _, i := range typ.Interfaces {
				known(t, typ, grammar.InterfaceType, i.Type)
			}
			if typ.Kind == grammar.RelationshipType {
				known(t, typ, grammar.CapabilityType, typ.Targets...)
			}
		}
	}
}

// The non-normative types are there for who uses them, and no hindrance for
// who defines them.
func TestTheStandardsExamplesHaveTheirTypes(t *testing.T) {
	t.Parallel()
	const head = "tosca_definitions_version: tosca_simple_yaml_1_0\n"
	apache := func(text string) *grammar.Type {
		docs, list := load(t, &txtar.Archive{Files: []txtar.File{{Name: "app.yaml", Data: []byte(text)}}})
		if len(list) > 0 {
			t.Errorf("%v", list)
		}
		return docs[0].Scope().Lookup(grammar.NodeType, "tosca.nodes.WebServer.Apache")
	}
	if found := apache(head); found == nil || !found.Doc.Embedded {
		t.Errorf("without a definition: %+v", found)
	}
	if found := apache(head + "node_types: {tosca.nodes.WebServer.Apache: {derived_from: tosca.nodes.Root}}\n"); found == nil || found.Doc.Embedded {
		t.Errorf("with one: %+v", found)
	}
}
