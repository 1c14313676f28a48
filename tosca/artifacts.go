package tosca

import (
	"github.com/toskose/toskose/tosca/internal/check"
	"github.com/toskose/toskose/tosca/internal/code"
)

// componentArtifacts makes the model's artifacts of a component: each must be
// a file of the archive.
func (c *compiler) componentArtifacts(n *node) []Artifact {
	check.ArtifactTypes(c.Graph, n.Node)
	var all []Artifact
	for _, a := range c.Artifacts(n.Node) {
		what := n.Of() + ": artifact " + quote(a.Name)
		if a.Repository.Name != "" {
			c.Errorf(a.Repository.Pos, code.ArtRepository, "%s is in repository %q, and nothing is fetched: put the file into the archive", what, a.Repository.Name)
			continue
		}
		if !check.Written(c.Graph, a.Artifact, what) {
			continue
		}
		if p, ok := c.File(a.In, a.File, what); ok {
			all = append(all, Artifact{Name: a.Name, Type: a.Type.Name, Path: p})
		}
	}
	return all
}
