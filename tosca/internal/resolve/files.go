package resolve

import (
	"path"
	"slices"
	"strings"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/grammar"
)

// Artifact is an artifact of a node, its own or inherited.
type Artifact struct {
	*grammar.Artifact
	Doc   *grammar.Document
	Chain []*grammar.Type // of its type; empty if it has none
	Own   bool            // of the template, not of a type
}

// Artifacts returns all artifacts of a node, sorted by name. The template's win over the
// type's, and these over inherited ones.
func (g *Graph) Artifacts(n *Node) []Artifact {
	var all []Artifact
	for _, t := range slices.Backward(n.Typ.Chain) {
		all = g.appendArtifacts(all, t.Artifacts, t.Doc, false)
	}
	all = g.appendArtifacts(all, n.Artifacts, n.Doc, true)
	slices.SortStableFunc(all, func(a, b Artifact) int { return strings.Compare(a.Name, b.Name) })
	kept := all[:0]
	for i, a := range all {
		if i+1 == len(all) || all[i+1].Name != a.Name { // the last of a name wins
			kept = append(kept, a)
		}
	}
	return kept
}

func (g *Graph) appendArtifacts(to []Artifact, more []*grammar.Artifact, doc *grammar.Document, own bool) []Artifact {
	if len(more) > 0 {
		to = slices.Grow(to, len(more))
	}
	for _, a := range more {
		to = append(to, Artifact{a, doc, g.Chain(doc.Scope().Lookup(grammar.ArtifactType, a.Type.Name)), own})
	}
	return to
}

// Artifact returns an artifact of a node by its name.
func (g *Graph) Artifact(n *Node, name string) (Artifact, bool) {
	if n.artifacts == nil {
		n.artifacts = map[string]Artifact{}
		for _, a := range g.Artifacts(n) {
			n.artifacts[a.Name] = a
		}
	}
	a, has := n.artifacts[name]
	return a, has
}

// Files finds the files of the archive that documents name.
type Files struct {
	*diag.Collector
	archive Archive
	found   map[string]entry    // results by path, as many operations share a script
	lists   map[string][]string // listed folders, for suggestions
}

// entry is the kind of a path in the archive.
type entry uint8

const (
	nothing entry = iota
	aFile
	aFolder // or anything else that is not a file
)

// File returns the path of a file that a document names, or reports that it is missing.
// what names its user, as in `component "api": artifact "csv"`.
func (f *Files) File(in string, ref grammar.Ref, what string) (string, bool) {
	if ref.Name == "" {
		return "", false // reported by the grammar
	}
	name, ok := grammar.Within(in, ref.Name)
	if !ok {
		f.Errorf(ref.Pos, code.ArtFile, "%s: file %q is not a path in the archive", what, ref.Name)
		return "", false
	}
	switch f.look(name) {
	case aFile:
		return name, true
	case aFolder:
		f.Errorf(ref.Pos, code.ArtFile, "%s: file %q is a folder", what, ref.Name)
	case nothing:
		f.Add(f.MissingFile(in, ref, what))
	}
	return "", false
}

// MissingFile returns the diagnostic for a missing file, with a suggestion.
func (f *Files) MissingFile(in string, ref grammar.Ref, what string) diag.Diagnostic {
	name, ok := grammar.Within(in, ref.Name)
	d := diag.Diagnostic{Position: ref.Pos, Code: code.ArtFile, Message: what + ": file " + quote(ref.Name) + " is not in the archive"}
	if !ok {
		return d
	}
	if name != ref.Name {
		d.Message += " (looked for " + quote(name) + ")"
	}
	if near := f.nearFile(name); near != "" {
		d.Suggestion = strings.TrimSuffix(ref.Name, path.Base(ref.Name)) + near
		return d
	}
	up := ""
	for dir := path.Dir(in); dir != "." && !strings.HasPrefix(ref.Name, "/"); { // next to a parent folder
		dir, up = path.Dir(dir), up+"../"
		if f.look(path.Join(dir, ref.Name)) == aFile {
			d.Suggestion = up + ref.Name
			break
		}
	}
	return d
}

// IsFile reports whether a path in a document is a file of the archive.
func (f *Files) IsFile(in, name string) bool {
	within, ok := grammar.Within(in, name)
	return ok && f.look(within) == aFile
}

func (f *Files) look(name string) entry {
	what, known := f.found[name]
	if known {
		return what
	}
	if info, err := f.archive.Stat(name); err == nil {
		what = aFolder
		if info.Mode().IsRegular() {
			what = aFile
		}
	}
	f.found[name] = what
	return what
}

// nearFile returns a file in the same folder with a similar name.
func (f *Files) nearFile(name string) string {
	dir := path.Dir(name)
	names, listed := f.lists[dir]
	if !listed {
		if entries, err := f.archive.ReadDir(dir); err == nil {
			for _, e := range entries {
				names = append(names, e.Name())
			}
		}
		f.lists[dir] = names
	}
	return f.Nearest(path.Base(name), names)
}
