package resolve

import (
	"slices"
	"strings"

	"github.com/toskose/toskose/tosca/internal/grammar"
)

// Artifact is an artifact of a node, its own or inherited.
type Artifact struct {
	*grammar.Artifact
	Doc   *grammar.Document
	Chain []*grammar.Type // of its type; empty: none is named
	Own   bool            // written in the template, not in a type
}

// Artifacts returns all artifacts of a node, sorted by name: its own win over
// those of its type, and these over inherited ones.
func (g *Graph) Artifacts(n *Node) []Artifact {
	var all []Artifact
	for _, t := range slices.Backward(n.Typ.Chain) {
		all = g.appendArtifacts(all, t.Artifacts, t.Doc, false)
	}
	all = g.appendArtifacts(all, n.Artifacts, n.Doc, true)
	slices.SortStableFunc(all, func(a, b Artifact) int { return strings.Compare(a.Name, b.Name) })
	kept := all[:0]
	for i, a := range all {
		if i+1 == len(all) || all[i+1].Name != a.Name { // the last of one name
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

// Artifact finds an artifact of a node by its name.
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
