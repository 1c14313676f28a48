package grammar

import (
	"fmt"
	"strings"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/source"
)

// readDocument reads the definitions of one file.
func readDocument(c *diag.Collector, file string, embedded bool, root *source.Node) *Document {
	doc := &Document{File: file, Pos: root.Pos(), Embedded: embedded, Repositories: map[string]*Repository{}}
	r := &reader{Collector: c, doc: doc}
	if root.Kind != source.Map {
		r.Errorf(root.Pos(), code.Shape, "a service template must be a map, not %s", aKind(root.Kind))
		return doc
	}
	doc.keywords, doc.InputsRead = root.Keys, inputsRead(root)
	r.version(root)
	r.fields(root, "the service template", r.documentFields())
	r.checkNamespace()
	if r.doc.V2() && doc.Profile.Name != "" && doc.Topology != nil {
		r.Errorf(doc.Topology.Pos, code.Together, "the file defines profile %q, so it cannot have a service template", doc.Profile.Name)
	}
	return doc
}

// Keywords are those that the file has, where they are written.
func (d *Document) Keywords() []*source.Node { return d.keywords }

// Keywords are those that the topology has, where they are written.
func (t *Topology) Keywords() []*source.Node { return t.keywords }

// checkNamespace keeps TOSCA's own namespace for what TOSCA approved (TOSCA 1.3,
// 3.1.3.1): a file that defines nothing but types by TOSCA's names may be that.
func (r *reader) checkNamespace() {
	doc := r.doc
	_, path, _ := strings.Cut(doc.Namespace.Name, "://")
	if !strings.HasPrefix(path, "docs.oasis-open.org/tosca") || doc.Embedded {
		return
	}
	theirs, some := doc.Topology == nil, false
	for _, types := range doc.Types {
		for _, t := range types {
			theirs, some = theirs && strings.HasPrefix(t.Name, "tosca."), true
		}
	}
	report := r.Errorf
	if theirs && some {
		report = r.Warnf
	}
	report(doc.Namespace.Pos, code.Together, "namespace %q is TOSCA's own (TOSCA 1.3, 3.1.3.1): a service template has one of its author's", doc.Namespace.Name)
}

// documentFields are the keywords of a file (TOSCA 1.3, 3.10; 2.0, 6.1).
func (r *reader) documentFields() []field {
	doc := r.doc
	namespace := func(n *source.Node) { doc.Namespace = r.ref(n, "namespace") }
	known := []field{
		{"tosca_definitions_version", ignored, everyVersion},
		{"metadata", r.metadata, everyVersion},
		{"template_name", r.setText(&doc.Name, "template_name"), first}, // where early drafts have them
		{"template_version", r.setText(&doc.AppVersion, "template_version"), first},
		{"template_author", ignored, first},
		{"description", r.setText(&doc.Description, "description"), everyVersion},
		{"namespace", namespace, first},
		{"tosca_default_namespace", namespace, first},
		{"profile", r.setRef(&doc.Profile, "profile"), second},
		{"dsl_definitions", ignored, everyVersion},
		{"repositories", r.repositories, everyVersion},
		{"imports", r.imports, everyVersion},
		{"functions", r.functions(false), second},
		{"topology_template", r.topology("topology_template"), first},
		{"service_template", r.topology("service_template"), second},
	}
	for kind := range kinds {
		known = append(known, field{sections[kind], r.types(kind), everyVersion})
	}
	return known
}

func (r *reader) metadata(n *source.Node) {
	r.byName(n, "metadata", func(k, v *source.Node) {
		if r.doc.V2() && (v.IsNull() || v.Kind != source.String) {
			return // values may be of any type (TOSCA 2.0, 5.3.1)
		}
		switch k.Text {
		case "template_name":
			r.doc.Name = r.text(v, "metadata: template_name")
		case "template_version":
			r.doc.AppVersion = r.text(v, "metadata: template_version")
		default:
			if !r.doc.V2() {
				r.text(v, "metadata: "+k.Text)
			}
		}
	})
}

func (r *reader) repositories(n *source.Node) {
	r.byName(n, "repositories", func(k, v *source.Node) {
		repo := &Repository{Pos: k.Pos()}
		r.doc.Repositories[k.Text] = repo
		of := fmt.Sprintf("repository %q", k.Text)
		if !v.IsNull() && v.IsScalar() {
			repo.URL = r.text(v, of)
			return
		}
		r.fields(v, of, []field{
			{"url", r.setText(&repo.URL, of+": url"), everyVersion},
			{"credential", setNode(&repo.Credential), first},
		})
		if repo.URL == "" {
			r.missing(v, k.Pos(), "url", of)
		}
	})
}

// imports reads a list of imports; early drafts have a map of them.
func (r *reader) imports(n *source.Node) {
	if !n.IsNull() && n.Kind == source.Map && !r.doc.V2() {
		r.byName(n, "imports", func(_, v *source.Node) { r.anImport(v) })
		return
	}
	if !n.IsNull() && n.Kind != source.List {
		r.doc.open = true // what it was to import is not known
	}
	r.items(n, "imports", func(item *source.Node) {
		if !r.doc.V2() && !item.IsNull() && item.Kind == source.Map && len(item.Keys) == 1 && !importKeyword[item.Keys[0].Text] {
			item = item.Items[0] // the named notation
		}
		r.anImport(item)
	})
}

var importKeyword = map[string]bool{
	"file": true, "url": true, "profile": true, "repository": true, "namespace": true, "namespace_prefix": true,
	"namespace_uri": true, "description": true, "metadata": true,
}

// anImport reads the single-line and the multi-line notation.
func (r *reader) anImport(item *source.Node) {
	i, before := Import{Pos: item.Pos()}, r.Errors()
	if item.IsScalar() {
		i.File = r.text(item, "an import")
	} else {
		file := func(n *source.Node) { i.File, i.Pos = r.text(n, "an import's file"), n.Pos() }
		prefix := r.setText(&i.Prefix, "an import's namespace")
		r.fields(item, "an import", []field{
			{"file", file, first},
			{"url", file, second},
			{"profile", func(n *source.Node) { i.Profile, i.Pos = r.text(n, "an import's profile"), n.Pos() }, second},
			{"repository", r.setText(&i.Repository, "an import's repository"), everyVersion},
			{"namespace_prefix", prefix, first},
			{"namespace", prefix, second},
			{"namespace_uri", r.setRef(&i.URI, "an import's namespace_uri"), first},
		})
	}
	switch {
	case i.File == "" && i.Profile == "" && r.Errors() > before: // said so
		r.doc.open = true
	case i.File == "" && i.Profile == "" && r.doc.V2():
		r.doc.open = true
		r.Errorf(i.Pos, code.Untyped, "an import has neither a url nor a profile")
	case i.File == "" && i.Profile == "":
		r.doc.open = true
		r.Errorf(i.Pos, code.Untyped, "an import has no file")
	case i.File != "" && i.Profile != "":
		r.Errorf(i.Pos, code.Together, "an import has a url and a profile, and may have one of them only")
	case i.Repository != "" && i.Profile != "":
		r.Errorf(i.Pos, code.Together, "an import of a profile cannot have a repository")
	case i.Repository != "" && r.doc.V2() && hasScheme.MatchString(i.File):
		r.Errorf(i.Pos, code.Together, "import %q is a whole URL, so it cannot be in repository %q", i.File, i.Repository)
	case i.Prefix == "tosca" && !r.doc.V2():
		r.Errorf(i.Pos, code.Together, "import %q has the namespace_prefix \"tosca\", which is TOSCA's own (TOSCA 1.3, 3.6.8.2.3)", i.File)
	default:
		r.doc.Imports = append(r.doc.Imports, i)
	}
}
