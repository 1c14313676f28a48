package data_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
)

// world is a topology of a few entities: `api` is hosted on `server`, which is
// hosted on `rack`, and connects to the capability `endpoint` of `db`; the
// requirement `cache` of it is left open.
type world struct {
	doc    *grammar.Document
	inputs map[string]data.Value
	byName map[string]*entity
}

func (w *world) Input(name string) (data.Value, data.Answer) {
	v, ok := w.inputs[name]
	if !ok {
		return v, data.Missing
	}
	return v, data.Found
}

func (w *world) Inputs() []string    { return slices.Sorted(maps.Keys(w.inputs)) }
func (w *world) Templates() []string { return slices.Sorted(maps.Keys(w.byName)) }

func (w *world) Entity(name string) data.Entity {
	if e, ok := w.byName[name]; ok {
		return e
	}
	return nil
}

type entity struct {
	kind    data.EntityKind
	name    string
	members map[data.Member]map[string]data.Value
	leads   map[data.Step]data.Entity // nil: open
	outputs map[string]map[string][]string
}

func (n *entity) Describe() (data.EntityKind, string) { return n.kind, n.name }

func (n *entity) Follow(s data.Step) (data.Entity, data.Answer) {
	if s.Index == data.All {
		s.Index = 0
	}
	to, ok := n.leads[s]
	switch {
	case !ok:
		return nil, data.Missing
	case to == nil:
		return nil, data.Open
	}
	return to, data.Found
}

func (n *entity) Get(m data.Member, name ...string) (data.Value, data.Answer) {
	v, ok := n.members[m][name[0]]
	if !ok && m == data.Attribute {
		v, ok = n.members[data.Property][name[0]]
	}
	switch {
	case !ok:
		return v, data.Missing
	case v.Def != nil && v.Node == nil: // it is known only at run time
		return v, data.Open
	}
	return v, data.Found
}

func (n *entity) Names(m data.Member, of ...string) []string {
	if m != data.Output {
		return slices.Sorted(maps.Keys(n.members[m]))
	}
	switch len(of) {
	case 0:
		return slices.Sorted(maps.Keys(n.outputs))
	case 1:
		return slices.Sorted(maps.Keys(n.outputs[of[0]]))
	}
	return n.outputs[of[0]][of[1]]
}

func typed(t testing.TB, yaml, typ string, doc *grammar.Document) data.Value {
	t.Helper()
	return data.Value{Node: node(t, yaml), Def: data.Of(typ, doc), Size: 4, OK: true}
}

func members(t testing.TB, doc *grammar.Document, of ...string) map[string]data.Value {
	t.Helper()
	all := map[string]data.Value{}
	for i := 0; i < len(of); i += 3 {
		all[of[i]] = typed(t, of[i+2], of[i+1], doc)
	}
	return all
}

func newWorld(t testing.TB, doc *grammar.Document) *world {
	t.Helper()
	property := func(of ...string) map[data.Member]map[string]data.Value {
		return map[data.Member]map[string]data.Value{data.Property: members(t, doc, of...)}
	}
	rack := &entity{kind: data.NodeEntity, name: `node "rack"`, members: property("room", "string", "B12")}
	server := &entity{
		kind: data.NodeEntity, name: `node "server"`, members: property("ip", "string", "10.0.0.1", "size", "scalar-unit.size", "4 GB"),
		leads: map[data.Step]data.Entity{{Kind: data.ToHost}: rack},
	}
	endpoint := &entity{kind: data.CapabilityEntity, name: `capability "endpoint"`, members: property("port", "integer", "5432")}
	db := &entity{
		kind: data.NodeEntity, name: `node "db"`,
		members: property("name", "string", "shop", "version", "version", "9.6.10", "port", "integer", "1", "tags", "list", "[a, b]", "opts", "map", "{k: {deep: v}}"),
		leads:   map[data.Step]data.Entity{{Kind: data.ToCapability, Name: "endpoint"}: endpoint},
	}
	rel := &entity{
		kind: data.RelationshipEntity, name: "the relationship", members: property("user", "string", "me"),
		leads: map[data.Step]data.Entity{{Kind: data.ToCapability}: endpoint, {Kind: data.ToTarget}: db},
	}
	api := &entity{
		kind: data.NodeEntity, name: `node "api"`, members: property("port", "integer", "8080"),
		leads: map[data.Step]data.Entity{
			{Kind: data.ToHost}:                           server,
			{Kind: data.ToRelationship, Name: "database"}: rel,
			{Kind: data.ToRelationship, Name: "cache"}:    nil,
		},
		outputs: map[string]map[string][]string{"Standard": {"create": {"token"}, "start": nil}},
	}
	rel.leads[data.Step{Kind: data.ToSource}] = api
	endpoint.leads = map[data.Step]data.Entity{{Kind: data.ToRelationship}: rel}
	api.members[data.Attribute] = map[string]data.Value{"address": {Def: data.Of("string", doc)}}
	api.members[data.Artifact] = members(t, doc, "code", "string", "code.py")
	api.members[data.Property]["loop"] = data.Value{Busy: true}
	return &world{
		doc:    doc,
		inputs: members(t, doc, "size", "integer", "3", "host", "string", "db", "ports", "list", "[80, 443]", "missing", "string", "~", "nothing", "map", "~"),
		byName: map[string]*entity{"api": api, "db": db, "server": server, "rack": rack},
	}
}
