package resolve

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

// Artifact is an artifact of a node, its own or inherited.
type Artifact struct {
	*grammar.Artifact
	Doc   *grammar.Document
	Chain []*grammar.Type // of its type; empty: none is named
	Own   bool            // written in the template, not in a type
}

// Artifacts gives all artifacts of a node, sorted by name: its own win over
// those of its type, and these over inherited ones.
func (s *Service) Artifacts(n *Node) []Artifact {
	var all []Artifact
	for _, t := range slices.Backward(n.Typ.Chain) {
		all = s.appendArtifacts(all, t.Artifacts, t.Doc, false)
	}
	all = s.appendArtifacts(all, n.Artifacts, n.Doc, true)
	slices.SortStableFunc(all, func(a, b Artifact) int { return strings.Compare(a.Name, b.Name) })
	kept := all[:0]
	for i, a := range all {
		if i+1 == len(all) || all[i+1].Name != a.Name { // the last of one name
			kept = append(kept, a)
		}
	}
	return kept
}

func (s *Service) appendArtifacts(to []Artifact, more []*grammar.Artifact, doc *grammar.Document, own bool) []Artifact {
	if len(more) > 0 {
		to = slices.Grow(to, len(more))
	}
	for _, a := range more {
		to = append(to, Artifact{a, doc, s.Chain(doc.Scope().Lookup(grammar.ArtifactType, a.Type.Name)), own})
	}
	return to
}

// Artifact finds an artifact of a node by its name.
func (s *Service) Artifact(n *Node, name string) (Artifact, bool) {
	if n.artifacts == nil {
		n.artifacts = map[string]Artifact{}
		for _, a := range s.Artifacts(n) {
			n.artifacts[a.Name] = a
		}
	}
	a, has := n.artifacts[name]
	return a, has
}

// CheckArtifactTypes reports the unknown types of a template's artifacts, and
// those that are missing.
func (s *Service) CheckArtifactTypes(n *Node) {
	for _, a := range n.Artifacts {
		of := n.Of() + ": artifact " + quote(a.Name)
		if a.Type.Name != "" {
			s.Lookup(n.Doc, grammar.ArtifactType, a.Type, of)
		} else if a.Untyped() && !second(n.Doc) && !inheritsArtifact(n, a.Name) {
			s.Errorf(a.Pos, codeUntyped, "%s has no type", of)
		}
	}
}

// File finds a file that a document names; ok is false where there is none,
// which is reported. What says what the file is for, as in `component "api":
// artifact "csv"`.
func (s *Service) File(in string, ref grammar.Ref, what string) (string, bool) {
	if ref.Name == "" {
		return "", false // said by the grammar
	}
	name, ok := grammar.Within(in, ref.Name)
	if !ok {
		s.Errorf(ref.Pos, codeArtFile, "%s: file %q is no path in the archive", what, ref.Name)
		return "", false
	}
	switch s.found(name) {
	case aFile:
		return name, true
	case aFolder:
		s.Errorf(ref.Pos, codeArtFile, "%s: file %q is a folder", what, ref.Name)
	case nothing:
		d := diag.Diagnostic{
			Position: ref.Pos, Code: codeArtFile,
			Message: what + ": file " + quote(ref.Name) + " is not in the archive",
		}
		if near := s.nearFile(name); near != "" {
			d.Suggestion = strings.TrimSuffix(ref.Name, path.Base(ref.Name)) + near
		}
		s.Add(d)
	}
	return "", false
}

// found is what there is in the archive by a name.
type found uint8

const (
	nothing found = iota
	aFile
	aFolder // or what else is no file
)

// found looks into the archive once for each name: many operations are one
// script.
func (s *Service) found(name string) found {
	what, known := s.files[name]
	if known {
		return what
	}
	if info, err := s.archive.Stat(name); err == nil {
		what = aFolder
		if info.Mode().IsRegular() {
			what = aFile
		}
	}
	if s.files == nil {
		s.files = map[string]found{}
	}
	s.files[name] = what
	return what
}

// nearFile looks in the folder where a file should be for what it may be
// called there.
func (s *Service) nearFile(name string) string {
	dir := path.Dir(name)
	names, listed := s.lists[dir]
	if !listed {
		if s.lists == nil {
			s.lists = map[string][]string{}
		}
		entries, err := s.archive.ReadDir(dir)
		if err == nil {
			for _, e := range entries {
				names = append(names, e.Name())
			}
		}
		s.lists[dir] = names
	}
	return s.Nearest(path.Base(name), names)
}

// Marked gives the artifact that a marker's number stands for.
func (s *Service) Marked(number string) (ArtifactRef, bool) {
	at, err := strconv.Atoi(number)
	if err != nil || at < 0 || at >= len(s.refs) {
		return ArtifactRef{}, false
	}
	return s.refs[at], true
}

func (s *Service) mark(ref ArtifactRef) string {
	s.refs = append(s.refs, ref)
	return data.Marker + strconv.Itoa(len(s.refs)-1) + data.Marker
}

// IsFile tells whether a path that a document names is a file of the archive.
func (s *Service) IsFile(in, name string) bool {
	within, ok := grammar.Within(in, name)
	return ok && s.found(within) == aFile
}

var hasScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)

// checkArtifacts checks the artifacts of a node template. A file that is not
// there is a warning: nothing of the node is packaged.
func (s *Service) checkArtifacts(n *Node) {
	s.CheckArtifactTypes(n)
	for _, a := range n.Artifacts {
		of := n.Of() + ": artifact " + quote(a.Name)
		s.checkArtifact(a, n, of)
	}
}

// inheritsArtifact tells whether the type of a node has an artifact of a name,
// whose type one of the template may leave out.
func inheritsArtifact(n *Node, name string) bool {
	return slices.ContainsFunc(n.Typ.Chain, func(t *grammar.Type) bool {
		return slices.ContainsFunc(t.Artifacts, func(a *grammar.Artifact) bool { return a.Name == name })
	})
}

func (s *Service) checkArtifact(a *grammar.Artifact, n *Node, of string) {
	s.checkComputed(a, n.Place(of))
	if a.Repository.Name != "" {
		s.checkRepository(a.Repository, n.Doc, of)
	} else {
		s.lookFor(a.In, a.File, of)
	}
	if t := s.inherit(n.Doc.Scope().Lookup(grammar.ArtifactType, a.Type.Name)); t != nil {
		h := holder{s: s, self: n, of: of, doc: n.Doc, pos: a.Pos, props: t.Props, whole: t.Whole && !bare(t.Type), assigned: a.Properties}
		h.check(Quoted(t.Type))
	}
}

// checkComputed checks the functions that stand for what is a text.
func (s *Service) checkComputed(a *grammar.Artifact, p data.Place) {
	for _, n := range a.Computed {
		s.checkValue(n, "string", p)
	}
}

// Written tells whether all that an artifact says is there, and reports what
// functions make of it, which nothing packages.
func (s *Service) Written(a *grammar.Artifact, of string) bool {
	for _, n := range a.Computed {
		s.Incomplete(n.Pos(), codeFunctionRuntime, "%s: what a function makes cannot be packaged: write it out", of)
	}
	return len(a.Computed) == 0
}

// checkRepositories checks the credentials that repositories have in 1.x. A text
// in their place is what some write.
func (s *Service) checkRepositories() {
	for _, doc := range s.docs {
		if doc.Embedded || doc.Scope() == nil || second(doc) {
			continue
		}
		for _, name := range Keys(doc.Repositories) {
			if c := doc.Repositories[name].Credential; c != nil && c.Kind == source.Map {
				s.checkValue(c, "tosca.datatypes.Credential", data.Place{Of: "repository " + quote(name) + ": credential", Doc: doc})
			}
		}
	}
}

func (s *Service) checkRepository(ref grammar.Ref, doc *grammar.Document, of string) {
	scope := doc.Scope()
	if scope.Repository(ref.Name) == nil && !scope.Open() {
		s.Unknown(ref.Pos, codeArtRepository, ref.Name, scope.RepositoryNames(), "%s is in unknown repository %q", of, ref.Name)
	}
}

// lookFor warns of a file that is not in the archive.
func (s *Service) lookFor(in string, ref grammar.Ref, of string) {
	if ref.Name == "" || hasScheme.MatchString(ref.Name) || s.IsFile(in, ref.Name) {
		return
	}
	s.Warnf(ref.Pos, codeArtFile, "%s: file %q is not in the archive", of, ref.Name)
}

// checkImplementation checks what implements an operation of a template: a
// file, or the name of an artifact.
func (s *Service) checkImplementation(o *grammar.Operation, h *holder, of string) {
	n, isNode := h.self.(*Node)
	refs := append([]grammar.Ref{o.Implementation}, o.Dependencies...)
	for _, ref := range refs {
		if isNode && ref.Name != "" {
			if _, ok := s.Artifact(n, ref.Name); ok {
				continue
			}
		}
		if o.Primary == nil || o.Primary.Repository.Name == "" {
			s.lookFor(o.File, ref, of)
		}
	}
	s.checkInlineArtifacts(o, h.place(of))
	s.checkHost(o, isNode, h.doc, of)
}
