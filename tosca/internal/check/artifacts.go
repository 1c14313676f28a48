package check

import (
	"regexp"
	"slices"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/inherit"
	"github.com/toskose/toskose/tosca/internal/resolve"
	"github.com/toskose/toskose/tosca/internal/source"
)

// ArtifactTypes reports the unknown types of a template's artifacts, and
// those that are missing.
func ArtifactTypes(g *resolve.Graph, n *resolve.Node) {
	for _, a := range n.Artifacts {
		of := n.Of() + ": artifact " + quote(a.Name)
		if a.Type.Name != "" {
			g.Lookup(n.Doc, grammar.ArtifactType, a.Type, of)
		} else if a.Untyped() && !n.Doc.V2() && !inheritsArtifact(n, a.Name) {
			g.Errorf(a.Pos, code.Untyped, "%s has no type", of)
		}
	}
}

var hasScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)

// checkArtifacts checks the artifacts of a node template. A file that is not
// there is a warning: nothing of the node is packaged.
func checkArtifacts(g *resolve.Graph, n *resolve.Node) {
	ArtifactTypes(g, n)
	for _, a := range n.Artifacts {
		of := n.Of() + ": artifact " + quote(a.Name)
		checkArtifact(g, a, n, of)
	}
}

// inheritsArtifact reports whether the type of a node has an artifact of a name,
// whose type one of the template may leave out.
func inheritsArtifact(n *resolve.Node, name string) bool {
	return slices.ContainsFunc(n.Typ.Chain, func(t *grammar.Type) bool {
		return slices.ContainsFunc(t.Artifacts, func(a *grammar.Artifact) bool { return a.Name == name })
	})
}

func checkArtifact(g *resolve.Graph, a *grammar.Artifact, n *resolve.Node, of string) {
	checkComputed(g, a, n.Place(of))
	if a.Repository.Name != "" {
		checkRepository(g, a.Repository, n.Doc, of)
	} else {
		lookFor(g, a.In, a.File, of)
	}
	if t := g.Inherit(n.Doc.Scope().Lookup(grammar.ArtifactType, a.Type.Name)); t != nil {
		h := resolve.Holder{Graph: g, Self: n, Of: of, Doc: n.Doc, At: a.Pos, Props: t.Props, Whole: t.Whole && !inherit.Bare(t.Type), Assigned: a.Properties}
		checkValues(&h, inherit.Quoted(t.Type))
	}
}

// checkComputed checks the functions that stand for what is a text.
func checkComputed(g *resolve.Graph, a *grammar.Artifact, p data.Place) {
	for _, n := range a.Computed {
		checkValue(g, n, "string", p)
	}
}

// Written reports whether all that an artifact says is there, and reports what
// functions make of it, which nothing packages.
func Written(g *resolve.Graph, a *grammar.Artifact, of string) bool {
	for _, n := range a.Computed {
		g.Incomplete(n.Pos(), code.FunctionRuntime, "%s: what a function makes cannot be packaged: write it out", of)
	}
	return len(a.Computed) == 0
}

// checkRepositories checks the credentials that repositories have in 1.x. A text
// in their place is what some write.
func checkRepositories(g *resolve.Graph) {
	for _, doc := range g.Docs {
		if doc.Embedded || doc.Scope() == nil || doc.V2() {
			continue
		}
		for _, name := range inherit.Keys(doc.Repositories) {
			if c := doc.Repositories[name].Credential; c != nil && c.Kind == source.Map {
				checkValue(g, c, "tosca.datatypes.Credential", data.Place{Of: "repository " + quote(name) + ": credential", Doc: doc})
			}
		}
	}
}

func checkRepository(g *resolve.Graph, ref grammar.Ref, doc *grammar.Document, of string) {
	scope := doc.Scope()
	if scope.Repository(ref.Name) == nil && !scope.Open() {
		g.Unknown(ref.Pos, code.ArtRepository, ref.Name, scope.RepositoryNames(), "%s is in unknown repository %q", of, ref.Name)
	}
}

// lookFor warns of a file that is not in the archive.
func lookFor(g *resolve.Graph, in string, ref grammar.Ref, of string) {
	if ref.Name == "" || hasScheme.MatchString(ref.Name) || g.IsFile(in, ref.Name) {
		return
	}
	d := g.Gone(in, ref, of)
	d.Severity = diag.Warning
	g.Add(d)
}

// checkImplementation checks what implements an operation of a template: a
// file, or the name of an artifact.
func checkImplementation(g *resolve.Graph, o *grammar.Operation, h *resolve.Holder, of string) {
	n, isNode := h.Self.(*resolve.Node)
	refs := append([]grammar.Ref{o.Implementation}, o.Dependencies...)
	for _, ref := range refs {
		if isNode && ref.Name != "" {
			if _, ok := g.Artifact(n, ref.Name); ok {
				continue
			}
		}
		if o.Primary == nil || o.Primary.Repository.Name == "" {
			lookFor(g, o.File, ref, of)
		}
	}
	checkInlineArtifacts(g, o, h.Place(of))
	checkHost(g, o, isNode, h.Doc, of)
}

// checkInlineArtifacts checks the artifacts that an implementation holds.
func checkInlineArtifacts(g *resolve.Graph, o *grammar.Operation, p data.Place) {
	doc, of := p.Doc, p.Of
	for _, a := range o.Artifacts() {
		checkComputed(g, a, p)
		g.Known(doc, grammar.ArtifactType, a.Type, of)
		if a.Repository.Name != "" && (doc.V2() || a == o.Primary) {
			checkRepository(g, a.Repository, doc, of)
		}
	}
}

// checkTypeArtifacts checks the artifacts of a node type.
func checkTypeArtifacts(g *resolve.Graph, t *grammar.Type, of string) {
	for _, a := range t.Artifacts {
		of := of + ": artifact " + quote(a.Name)
		checkComputed(g, a, data.Place{Of: of, Doc: t.Doc, Self: g.SelfOfType(t)})
		typ := g.Known(t.Doc, grammar.ArtifactType, a.Type, of)
		if !t.Doc.V2() {
			continue
		}
		if a.Repository.Name != "" {
			checkRepository(g, a.Repository, t.Doc, of)
		}
		if made := g.Inherit(typ); made != nil {
			h := resolve.Holder{Graph: g, Self: g.SelfOfType(t), Of: of, Doc: t.Doc, At: a.Pos, Props: made.Props, Whole: made.Whole, Assigned: a.Properties}
			checkValues(&h, inherit.Quoted(typ))
		}
	}
}
