package resolve

import (
	"slices"

	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/inherit"
	"github.com/toskose/toskose/tosca/internal/source"
)

// Edge is a requirement with a target node, and the relationship between the two nodes.
type Edge struct {
	*grammar.Requirement
	Def        *inherit.RequirementDef // nil if undefined
	Source     *Node
	Target     *Node
	Open       bool                   // it has no target yet
	Relation   *grammar.Type          // type of the relationship; nil if none is named, or unknown
	Properties *source.Node           // assigned to the relationship
	Provided   *inherit.CapabilityDef // of Target; nil for any
	template   *Relation              // nil if none
	held       *Holder
}

// Relation is a relationship template.
type Relation struct {
	*grammar.RelationshipTemplate
	Holder
	Typ *grammar.Type // nil if unknown (already reported)
}

// Of names the requirement in messages.
func (e *Edge) Of() string { return e.Source.Of() + ": requirement " + quote(e.Name) }

// Describe, Follow, Get and Names make a relationship a data.Entity.
func (e *Edge) Describe() (data.EntityKind, string) {
	return data.RelationshipEntity, "the relationship of " + quote(e.Source.Name) + " by " + quote(e.Name)
}

// Follow follows a step of a path.
func (e *Edge) Follow(step data.Step) (data.Entity, data.Answer) {
	switch step.Kind {
	case data.ToSource:
		return e.Source, data.Found
	case data.ToTarget:
		if e.Target != nil {
			return e.Target, data.Found
		}
	case data.ToCapability:
		if e.Target != nil && e.Provided != nil {
			if c := e.Target.Capability(e.Provided.Name); c != nil {
				return c, data.Found
			}
		}
	default:
	}
	return nil, data.Open
}

// Get returns a member of the relationship.
func (e *Edge) Get(m data.Member, name ...string) (data.Value, data.Answer) {
	if h := e.RelationHolder(); h != nil && (m == data.Property || m == data.Attribute) {
		return h.get(m, name[0])
	}
	return data.Value{}, data.Open
}

// Names lists members of the relationship, for messages.
func (e *Edge) Names(m data.Member, _ ...string) []string {
	if h := e.RelationHolder(); h != nil {
		return h.MemberNames(m)
	}
	return nil
}

// RelationHolder returns the properties of the relationship, or nil if its type is unknown.
func (e *Edge) RelationHolder() *Holder {
	if e.held != nil || e.Relation == nil {
		return e.held
	}
	s := e.Source.Holder.Graph
	t := s.Inherit(e.Relation)
	e.held = &Holder{
		Graph: s, Self: e, Of: e.Of() + ": the relationship", Doc: e.Source.Doc, At: e.Pos,
		Props: t.Props, sorted: t.PropertyNames(), Attrs: t.Attrs, Complete: t.Complete, needed: e.Source.Owned(), Assigned: e.Properties,
	}
	if e.Def != nil && e.template == nil { // a template must have all required properties
		e.held.Props, e.held.Attrs = e.Def.Refine(t)
	}
	if e.Inline != nil {
		e.held.AttrValues = e.Inline.Attributes
	}
	return e.held
}

func (r *Relation) Describe() (data.EntityKind, string) {
	return data.RelationshipEntity, "relationship template " + quote(r.Name)
}

// Follow returns Open, as several edges may use the template.
func (r *Relation) Follow(data.Step) (data.Entity, data.Answer) { return nil, data.Open }

func (r *Relation) Get(m data.Member, name ...string) (data.Value, data.Answer) {
	if r.Typ == nil || m != data.Property && m != data.Attribute {
		return data.Value{}, data.Open
	}
	return r.get(m, name[0])
}

func (r *Relation) Names(m data.Member, _ ...string) []string { return r.MemberNames(m) }

// makeRelations makes the relationship templates.
func (g *Graph) makeRelations() {
	g.Relations = map[string]*Relation{}
	for _, name := range inherit.Keys(g.Topo.Relationships) {
		t := g.Topo.Relationships[name]
		of := "relationship template " + quote(name)
		r := &Relation{RelationshipTemplate: g.copiedRelation(t, of)}
		r.Holder = Holder{Graph: g, Self: r, Of: of, Doc: g.Doc, At: t.Pos, Assigned: r.Properties, AttrValues: r.Attributes}
		if r.Typ = g.Known(g.Doc, grammar.RelationshipType, r.Type, of); r.Typ != nil {
			made := g.Inherit(r.Typ)
			r.Props, r.Attrs, r.Complete = made.Props, made.Attrs, made.Complete
		}
		g.Relations[name] = r
	}
}

// copiedRelation returns a template merged with the template that it copies.
func (g *Graph) copiedRelation(t *grammar.RelationshipTemplate, of string) *grammar.RelationshipTemplate {
	if t.Copy.Name == "" {
		return t
	}
	from := g.Topo.Relationships[t.Copy.Name]
	switch {
	case from == nil:
		g.Unknown(t.Copy.Pos, code.Copy, t.Copy.Name, inherit.Candidates(g, g.Topo.Relationships), "%s copies %q, which is not in the topology", of, t.Copy.Name)
		return t
	case from.Copy.Name != "":
		g.Errorf(t.Copy.Pos, code.Copy, "%s copies %q, which is itself a copy", of, t.Copy.Name)
		return t
	}
	made := *t
	if t.Type.Name == "" {
		made.Type = from.Type
	}
	made.Properties, made.Attributes = overlay(from.Properties, t.Properties), overlay(from.Attributes, t.Attributes)
	made.Interfaces = append(slices.Clone(from.Interfaces), t.Interfaces...)
	return &made
}

// isHost reports whether the target of an edge is a host: by its relationship, or else
// by the capability.
func (e *Edge) isHost() bool {
	s := e.Source.Holder.Graph
	if e.Relation != nil {
		return inherit.ChainHas(s.Chain(e.Relation), "tosca.relationships.HostedOn")
	}
	return e.Def != nil && inherit.ChainHas(s.Chain(e.Def.Capability), "tosca.capabilities.Container")
}

// advised reports whether the definition's node type is a recommendation, as it is in
// normative types. For example, a SoftwareComponent is hosted on a Compute, but section
// 7.2 of TOSCA 1.3 hosts it on another SoftwareComponent. The capability is binding.
func (e *Edge) advised() bool {
	return e.Def.Advises && !e.Source.Owned() && e.Target.Typ.CapabilityOf(e.Def.Capability) != nil
}
