package grammar

import (
	"regexp"
	"slices"

	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/source"
)

// The versions of TOSCA. What differs between those of 1.x differs so little
// that every keyword of one is read in all.
const (
	version10 = "tosca_simple_yaml_1_0"
	version13 = "tosca_simple_yaml_1_3"
	version20 = "tosca_2_0"
)

var versions = []string{version10, "tosca_simple_yaml_1_1", "tosca_simple_yaml_1_2", version13, version20}

var (
	// Drafts of 1.0 had a third number, and 1.0 allows for its namespace instead.
	draftVersion = regexp.MustCompile(`^(tosca_simple_yaml_1_[0-3])_[0-9]$`)
	namespaceURI = regexp.MustCompile(`^https?://docs\.oasis-open\.org/tosca/(?:ns/)?simple/(?:yaml/)?1\.([0-3])/?$`)
	// A profile that builds on 1.x, such as the one for network functions.
	otherProfile = regexp.MustCompile(`^tosca_simple_profile_for_[a-z0-9_]+$`)
)

// in says which versions have a keyword.
type in uint8

const (
	everyVersion in = iota
	first           // 1.x
	second          // 2.0
)

// instead are the keywords that 2.0 has in place of those of 1.x.
var instead = map[string]string{
	"topology_template": "service_template", "constraints": "validation",
	"valid_target_types": "valid_capability_types", "valid_source_types": "valid_source_node_types",
	"file": "url", "namespace_prefix": "namespace", "preconditions": "precondition",
}

// suits reports whether the document's version has a keyword; one that it has not
// is an error. What 2.0 dropped is still understood and read, so that no more is
// said than that.
func (r *reader) suits(k *source.Node, versions in, of string) bool {
	switch {
	case versions == second && !r.doc.V2():
		r.Errorf(k.Pos(), code.Other, "%s: keyword %q is one of TOSCA 2.0, and the file is of 1.x", of, k.Text)
		return false
	case versions == first && r.doc.V2():
		if other := instead[k.Text]; other != "" {
			r.Errorf(k.Pos(), code.Other, "%s: keyword %q is one of TOSCA 1.x; 2.0 has %q in its place", of, k.Text, other)
		} else {
			r.Errorf(k.Pos(), code.Other, "%s: keyword %q is one of TOSCA 1.x; 2.0 does not have it", of, k.Text)
		}
	}
	return true
}

// version reads which version of TOSCA the file is of. Where that is not known,
// the file is read as one of 1.x or, by its keywords, as one of 2.0.
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
	if known := versionOf(v.Text); known != "" {
		r.doc.Version = known
		r.comesFirst(root)
		return
	}
	if otherProfile.MatchString(v.Text) {
		r.doc.Version, r.doc.open = version13, true
		r.Warnf(v.Pos(), code.Profile, "profile %q is not at hand: names that it may define are not checked", v.Text)
		return
	}
	r.Unknown(v.Pos(), code.Version, v.Text, versions, "unknown tosca_definitions_version %q: 1.0 to 1.3 of the Simple Profile and 2.0 are read", v.Text)
}

// versionOf is the version of TOSCA that a file names, in any way; empty if there
// is none such.
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

// comesFirst reports a file that does not begin with its version, before which
// nobody knows how to read it (TOSCA 1.0 to 1.3, 3.1.2; 2.0, 6.1).
func (r *reader) comesFirst(root *source.Node) {
	first, section := root.Keys[0], "TOSCA 1.0 to 1.3, 3.1.2"
	if r.doc.V2() {
		section = "TOSCA 2.0, 6.1"
	}
	if first.Text != "tosca_definitions_version" {
		r.Errorf(first.Pos(), code.Version, "tosca_definitions_version must come first, before %q (%s)", first.Text, section)
	}
}

// V2 reports whether the rules of TOSCA 2.0 apply, instead of those of 1.x.
func (d *Document) V2() bool { return d != nil && d.Version == version20 }

// V13 reports whether a document is of 1.3, which says more than what was before
// it.
func (d *Document) V13() bool { return d.Version == version13 }
