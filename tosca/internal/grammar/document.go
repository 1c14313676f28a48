package grammar

import (
	"fmt"
	"regexp"
	"slices"
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

// Keywords returns the top-level keys of the file.
func (d *Document) Keywords() []*source.Node { return d.keywords }

// Keywords returns the keys of the topology.
func (t *Topology) Keywords() []*source.Node { return t.keywords }

// checkNamespace reports types in TOSCA's own namespace (TOSCA 1.3, 3.1.3.1). A file
// with nothing else may be a copy of the normative types, so that is a warning.
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
		{"template_name", r.setText(&doc.Name, "template_name"), first}, // as in early drafts
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

// imports reads a list of imports, or a map as in early drafts.
func (r *reader) imports(n *source.Node) {
	if !n.IsNull() && n.Kind == source.Map && !r.doc.V2() {
		r.byName(n, "imports", func(_, v *source.Node) { r.readImport(v) })
		return
	}
	if !n.IsNull() && n.Kind != source.List {
		r.doc.open = true // the missing file is unknown
	}
	r.items(n, "imports", func(item *source.Node) {
		if !r.doc.V2() && !item.IsNull() && item.Kind == source.Map && len(item.Keys) == 1 && !importKeyword[item.Keys[0].Text] {
			item = item.Items[0] // the named notation
		}
		r.readImport(item)
	})
}

var importKeyword = map[string]bool{
	"file": true, "url": true, "profile": true, "repository": true, "namespace": true, "namespace_prefix": true,
	"namespace_uri": true, "description": true, "metadata": true,
}

// readImport reads the single-line or multi-line notation.
func (r *reader) readImport(item *source.Node) {
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
	case i.File == "" && i.Profile == "" && r.Errors() > before: // already reported
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

// The versions of TOSCA. Versions of 1.x differ so little that their keywords are valid
// in all of them.
const (
	version10 = "tosca_simple_yaml_1_0"
	version13 = "tosca_simple_yaml_1_3"
	version20 = "tosca_2_0"
)

var versions = []string{version10, "tosca_simple_yaml_1_1", "tosca_simple_yaml_1_2", version13, version20}

var (
	// Drafts of 1.0 had a third number. 1.0 also allows its namespace.
	draftVersion = regexp.MustCompile(`^(tosca_simple_yaml_1_[0-3])_[0-9]$`)
	namespaceURI = regexp.MustCompile(`^https?://docs\.oasis-open\.org/tosca/(?:ns/)?simple/(?:yaml/)?1\.([0-3])/?$`)
	// A profile based on 1.x, such as the one for network functions.
	otherProfile = regexp.MustCompile(`^tosca_simple_profile_for_[a-z0-9_]+$`)
)

// in is the set of versions that have a keyword.
type in uint8

const (
	everyVersion in = iota
	first           // 1.x
	second          // 2.0
)

// replacements maps keywords of 1.x to those that replace them in 2.0.
var replacements = map[string]string{
	"topology_template": "service_template", "constraints": "validation",
	"valid_target_types": "valid_capability_types", "valid_source_types": "valid_source_node_types",
	"file": "url", "namespace_prefix": "namespace", "preconditions": "precondition",
}

// isValidKeyword reports whether the keyword may be read. A keyword of another version is an
// error, but those dropped in 2.0 are read all the same, to avoid further errors.
func (r *reader) isValidKeyword(k *source.Node, versions in, of string) bool {
	switch {
	case versions == second && !r.doc.V2():
		r.Errorf(k.Pos(), code.Other, "%s: keyword %q is one of TOSCA 2.0, and the file is of 1.x", of, k.Text)
		return false
	case versions == first && r.doc.V2():
		if other := replacements[k.Text]; other != "" {
			r.Errorf(k.Pos(), code.Other, "%s: keyword %q is one of TOSCA 1.x; 2.0 has %q instead", of, k.Text, other)
		} else {
			r.Errorf(k.Pos(), code.Other, "%s: keyword %q is one of TOSCA 1.x; 2.0 does not have it", of, k.Text)
		}
	}
	return true
}

// version reads the TOSCA version. If it is unknown, the keywords decide between 1.x and
// 2.0.
func (r *reader) version(root *source.Node) {
	v := root.Get("tosca_definitions_version")
	if root.Get("service_template") != nil {
		r.doc.Version = version20
	}
	if v.IsNull() {
		r.Errorf(root.Pos(), code.Version, "the file has no tosca_definitions_version, so it is not a TOSCA document")
		return
	}
	if !v.IsScalar() {
		r.Errorf(v.Pos(), code.Shape, "tosca_definitions_version must be a string, not %s", aKind(v.Kind))
		return
	}
	known := versionOf(v.Text)
	if v.Text == "tosca_simple_yaml_1.1" {
		known = "tosca_simple_yaml_1_1"
		r.Warnf(v.Pos(), code.Version, "tosca_definitions_version %q is read as %q", v.Text, known)
	}
	if known != "" {
		r.doc.Version = known
		r.checkVersionFirst(root)
		return
	}
	if otherProfile.MatchString(v.Text) {
		r.doc.Version, r.doc.open = version13, true
		r.Warnf(v.Pos(), code.Profile, "profile %q is not at hand: names that it may define are not checked", v.Text)
		return
	}
	r.Unknown(v.Pos(), code.Version, v.Text, versions, "unknown tosca_definitions_version %q: 1.0 to 1.3 of the Simple Profile and 2.0 are read", v.Text)
}

// versionOf returns the TOSCA version that a text names in any notation, or an empty
// string.
func versionOf(text string) string {
	if slices.Contains(versions, text) {
		return text
	}
	if m := draftVersion.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	if m := namespaceURI.FindStringSubmatch(text); m != nil {
		return "tosca_simple_yaml_1_" + m[1]
	}
	return ""
}

// checkVersionFirst reports a file that does not begin with its version (TOSCA 1.0 to
// 1.3, 3.1.2; 2.0, 6.1).
func (r *reader) checkVersionFirst(root *source.Node) {
	first, section := root.Keys[0], "TOSCA 1.0 to 1.3, 3.1.2"
	if r.doc.V2() {
		section = "TOSCA 2.0, 6.1"
	}
	if first.Text != "tosca_definitions_version" {
		r.Errorf(first.Pos(), code.Version, "tosca_definitions_version must come first, before %q (%s)", first.Text, section)
	}
}

// V2 reports whether the rules of TOSCA 2.0 apply, not those of 1.x.
func (d *Document) V2() bool { return d != nil && d.Version == version20 }

// V13 reports whether the document is of 1.3, which has more rules than earlier
// versions.
func (d *Document) V13() bool { return d.Version == version13 }
