package tosca

import (
	"slices"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/inherit"
)

// part is a part of a file, up to the next one.
type part struct {
	at      diag.Position
	matters bool // to a container, component or volume
}

// demote makes warnings of the errors that no container, component or volume can
// come to feel, in a document that has some: those in outputs, workflows and
// substitution mappings, in nodes, groups and policies that are none of TosKer's, and
// in types that none of these is of.
func (c *compiler) demote() {
	if c.Errors() == 0 {
		return
	}
	parts := map[string][]part{}
	for _, p := range c.parts() {
		parts[p.at.File] = append(parts[p.at.File], p)
	}
	for _, all := range parts {
		slices.SortFunc(all, func(a, b part) int { return a.at.Compare(b.at) })
	}
	c.Demote(func(at diag.Position) bool {
		all := parts[at.File]
		i, is := slices.BinarySearchFunc(all, at, func(p part, at diag.Position) int { return p.at.Compare(at) })
		if !is {
			i--
		}
		return i >= 0 && !all[i].matters
	})
}

// idle are the parts of a topology that nobody here executes.
var idle = map[string]bool{"outputs": true, "workflows": true, "substitution_mappings": true}

// parts lists the parts of all files.
func (c *compiler) parts() []part {
	var all []part
	add := func(at diag.Position, matters bool) { all = append(all, part{at, matters}) }
	used := c.usedTypes()
	for _, doc := range c.Docs {
		for _, k := range doc.Keywords() {
			add(k.Pos(), true)
		}
		for kind, types := range doc.Types {
			for _, t := range types {
				of := grammar.Kind(kind)
				add(t.Pos, of != grammar.NodeType && of != grammar.GroupType && of != grammar.PolicyType || used[t])
			}
		}
	}
	for _, k := range c.Topo.Keywords() {
		add(k.Pos(), !idle[k.Text])
	}
	for _, n := range c.nodes {
		add(n.Pos, n.Typ == nil || n.kind != foreign)
	}
	for _, g := range c.Groups {
		add(g.Pos, g.Typ == nil || used[g.Typ])
	}
	for _, p := range c.Policies {
		add(p.Pos, p.Typ == nil || used[p.Typ])
	}
	return all
}

// usedTypes are the types of nodes, groups and policies that TosKer's meaning has to
// do with: those of its nodes, of deployment units, of protocols, and of groups that
// protocols are for.
func (c *compiler) usedTypes() map[*grammar.Type]bool {
	used := map[*grammar.Type]bool{}
	add := func(chain []*grammar.Type) {
		for _, t := range chain {
			used[t] = true
		}
	}
	for _, n := range c.nodes {
		if n.Typ == nil || n.kind != foreign {
			add(inherit.Ancestors(n.Doc.Scope().Lookup(grammar.NodeType, n.Type.Name)))
		}
	}
	for _, g := range c.Groups {
		if inherit.ChainHas(c.Chain(g.Typ), typeUnit) {
			add(c.Chain(g.Typ))
		}
	}
	for _, p := range c.Policies {
		if !inherit.ChainHas(c.Chain(p.Typ), typeProtocol) {
			continue
		}
		add(c.Chain(p.Typ))
		for _, target := range p.Targets {
			if g := c.Groups[target.Name]; g != nil {
				add(c.Chain(g.Typ))
			}
		}
	}
	return used
}
