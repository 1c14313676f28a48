package resolve

import (
	"slices"

	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/inherit"
	"github.com/toskose/toskose/tosca/internal/source"
)

// Edge is a requirement that leads to another node. It is the relationship
// between the two as well.
type Edge struct {
	*grammar.Requirement
	Def        *inherit.RequirementDef // nil: the type does not define it
	Source     *Node
	Target     *Node
	Left       bool                   // it leads to no node template yet
	Relation   *grammar.Type          // of its relationship; nil: none is named, or it is unknown
	Properties *source.Node           // of its relationship, as assigned
	Provided   *inherit.CapabilityDef // of Target; nil: any
	template   *Relation              // nil: it has none
	held       *Holder
}

// Relation is a relationship template.
type Relation struct {
	*grammar.RelationshipTemplate
	Holder
	Typ *grammar.Type // nil: unknown, and said so
}

// Of names the requirement in a message.
func (e *Edge) Of() string { return e.Source.Of() + ": requirement " + quote(e.Name) }

// Describe, Lead, Get and Names make a relationship a data.Entity.
func (e *Edge) Describe() (data.EntityKind, string) {
	return data.RelationshipEntity, "the relationship of " + quote(e.Source.Name) + " by " + quote(e.Name)
}

// Lead returns what a step of a path leads to.
func (e *Edge) Lead(step data.Step) (data.Entity, data.Answer) {
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

// Get returns what the relationship has of a name.
func (e *Edge) Get(m data.Member, name ...string) (data.Value, data.Answer) {
	if h := e.Holds(); h != nil && (m == data.Property || m == data.Attribute) {
		return h.get(m, name[0])
	}
	return data.Value{}, data.Open
}

// Names lists what the relationship has, for messages.
func (e *Edge) Names(m data.Member, _ ...string) []string {
	if h := e.Holds(); h != nil {
		return h.MemberNames(m)
	}
	return nil
}

// Holds makes the properties of the relationship; nil where its type is not
// known.
func (e *Edge) Holds() *Holder {
	if e.held != nil || e.Relation == nil {
		return e.held
	}
	s := e.Source.Holder.Graph
	t := s.Inherit(e.Relation)
	e.held = &Holder{
		Graph: s, Self: e, Of: e.Of() + ": the relationship", Doc: e.Source.Doc, At: e.Pos,
		Props: t.Props, sorted: t.PropertyNames(), Attrs: t.Attrs, Whole: t.Whole, needed: e.Source.Owned(), Assigned: e.Properties,
	}
	if e.Def != nil && e.template == nil { // a template has to have all that its type requires
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

// Lead is open: which nodes a template is between is said by those that use it.
func (r *Relation) Lead(data.Step) (data.Entity, data.Answer) { return nil, data.Open }

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
			r.Props, r.Attrs, r.Whole = made.Props, made.Attrs, made.Whole
		}
		g.Relations[name] = r
	}
}

// copiedRelation makes a template that copies another one.
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

// isHost reports whether an edge leads to a host: by its relationship, or else by
// the capability that it asks for.
func (e *Edge) isHost() bool {
	s := e.Source.Holder.Graph
	if e.Relation != nil {
		return inherit.ChainHas(s.Chain(e.Relation), "tosca.relationships.HostedOn")
	}
	return e.Def != nil && inherit.ChainHas(s.Chain(e.Def.Capability), "tosca.capabilities.Container")
}

// advised reports whether the node type that the definition asks for is advice: a
// normative type says it, a SoftwareComponent is hosted on a Compute, and section
// 7.2 of TOSCA 1.3 hosts it on another SoftwareComponent. The capability counts.
func (e *Edge) advised() bool {
	return e.Def.Advises && !e.Source.Owned() && e.Target.Typ.CapabilityOf(e.Def.Capability) != nil
}
