package inherit

import (
	"maps"
	"slices"

	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

// Parameter is an input of an operation.
type Parameter struct {
	Def   *data.Definition // nil if it was only assigned
	Value *source.Node     // nil for the default of the definition
	At    *grammar.Property
}

// Operation is an operation or notification, combined from types and template.
type Operation struct {
	At      *grammar.Operation // the one with the implementation, or else the last definition
	Inputs  map[string]Parameter
	Outputs map[string]*data.Definition
	Notice  bool            // it is a notification
	Mapped  map[string]bool // outputs that are mapped to an attribute
}

// Interface is an interface, combined from types and template.
type Interface struct {
	Operations map[string]*Operation // and notifications
	Typ        *grammar.Type         // nil if unnamed or unknown
	Inputs     map[string]Parameter  // of all operations
	Unresolved bool                  // its type is unknown, so it may have any operation
}

// TypeInterfaces returns the interfaces of a node, relationship or group type, and
// caches them.
func (ix *Index) TypeInterfaces(t *Type) map[string]*Interface {
	if made, ok := ix.faces[t.Type]; ok {
		return made
	}
	all := map[string]*Interface{}
	for _, at := range t.ifaces {
		for _, i := range at.Interfaces {
			if all[i.Name] == nil {
				all[i.Name] = ix.NewInterface()
			}
			ix.Extend(all[i.Name], i, at.Doc)
		}
	}
	ix.faces[t.Type] = all
	return all
}

func (ix *Index) NewInterface() *Interface {
	return &Interface{Inputs: map[string]Parameter{}, Operations: map[string]*Operation{}}
}

// Extend merges a definition into an interface, after the definitions of its own type.
func (ix *Index) Extend(made *Interface, i *grammar.Interface, doc *grammar.Document) {
	if typ := doc.Scope().Lookup(grammar.InterfaceType, i.Type.Name); i.Type.Name != "" {
		made.Unresolved = made.Unresolved || typ == nil || !ix.Inherit(typ).Complete
		if typ != nil && made.Typ != typ {
			made.Typ = typ
			for _, base := range slices.Backward(Ancestors(typ)) {
				for _, inherited := range base.Interfaces {
					ix.Merge(made, inherited, base.Doc)
				}
			}
		}
	}
	ix.Merge(made, i, doc)
}

// RelationInterfaces returns the interfaces of a relationship type, refined by the
// requirement.
func (ix *Index) RelationInterfaces(t *grammar.Type, def *RequirementDef) map[string]*Interface {
	faces := ix.TypeInterfaces(ix.Inherit(t))
	if def == nil || len(def.Interfaces) == 0 {
		return faces
	}
	faces = ix.cloned(faces)
	for _, i := range def.Interfaces {
		if made := Find(faces, i.Name, def.Doc); made != nil {
			ix.Extend(made, i, def.Doc)
		}
	}
	return faces
}

// cloned returns a deep copy of interfaces.
func (ix *Index) cloned(faces map[string]*Interface) map[string]*Interface {
	all := make(map[string]*Interface, len(faces))
	for name, i := range faces {
		all[name] = ix.CopyFor(i, nil)
	}
	return all
}

// CopyFor returns a copy of an interface, to be changed by a definition. Operations that
// the definition does not name are shared; nil names all.
func (ix *Index) CopyFor(i *Interface, over *grammar.Interface) *Interface {
	made := *i
	made.Operations = maps.Clone(i.Operations)
	cost := len(i.Operations)
	touch := func(name string) {
		if o := i.Operations[name]; o != nil {
			cost += len(o.Inputs) + len(o.Outputs)
			made.Operations[name] = &Operation{At: o.At, Inputs: maps.Clone(o.Inputs), Outputs: maps.Clone(o.Outputs), Notice: o.Notice, Mapped: maps.Clone(o.Mapped)}
		}
	}
	if over != nil && len(over.Inputs) == 0 {
		for _, o := range over.Operations {
			touch(o.Name)
		}
		for _, o := range over.Notifications {
			touch(o.Name)
		}
	} else {
		made.Inputs = maps.Clone(i.Inputs)
		for name := range i.Operations {
			if !ix.Spent() {
				touch(name)
			}
		}
	}
	ix.Spend(cost)
	return &made
}

// Find returns an interface by its name or by the name of its type.
func Find(faces map[string]*Interface, name string, doc *grammar.Document) *Interface {
	return faces[nameOf(faces, name, doc)]
}

// nameOf returns the name of an interface that may be called by its type. Of several
// interfaces of one type it returns the first by name.
func nameOf(faces map[string]*Interface, name string, doc *grammar.Document) string {
	if faces[name] != nil {
		return name
	}
	typ := doc.Scope().Lookup(grammar.InterfaceType, name)
	if typ == nil {
		return name
	}
	found, first := false, name
	for other, i := range faces {
		if i.Typ == typ && (!found || other < first) {
			found, first = true, other
		}
	}
	return first
}

// AssignTo merges the interfaces of a template into those of its type. In 1.x a template
// may add an interface if it names its type. If seen is not nil, it is called for each
// interface with the name and the interface of the type.
func (ix *Index) AssignTo(faces map[string]*Interface, assigned []*grammar.Interface, doc *grammar.Document, seen func(*grammar.Interface, string, *Interface)) map[string]*Interface {
	if len(assigned) == 0 || !ix.Spend(len(faces)) {
		return faces
	}
	all := maps.Clone(faces)
	for _, i := range assigned {
		if all[i.Name] == nil && !ix.Spend(len(all)) { // nameOf walks all of them
			break
		}
		name := nameOf(all, i.Name, doc)
		made := all[name]
		if seen != nil {
			seen(i, name, made)
		}
		switch {
		case made != nil:
			all[name] = ix.CopyFor(made, i)
			ix.Merge(all[name], i, doc)
		case MayAdd(i, doc):
			all[i.Name] = ix.added(i, doc)
		}
	}
	return all
}

// MayAdd reports whether a template may add an interface: in 1.x, if it names the type,
// or is called by the name of the type.
func MayAdd(i *grammar.Interface, doc *grammar.Document) bool {
	return !doc.V2() && (i.Type.Name != "" || doc.Scope().Lookup(grammar.InterfaceType, i.Name) != nil)
}

// added returns an interface that only the template has.
func (ix *Index) added(i *grammar.Interface, doc *grammar.Document) *Interface {
	made, inheritType := ix.NewInterface(), *i
	if i.Type.Name == "" {
		inheritType.Type = grammar.Ref{Name: i.Name, Pos: i.Pos}
	}
	ix.Extend(made, &inheritType, doc)
	return made
}

// Merge merges one level into an interface, within the limit of work.
func (ix *Index) Merge(under *Interface, over *grammar.Interface, doc *grammar.Document) {
	if ix.Spend((1 + len(over.Inputs)) * (1 + len(under.Operations) + len(over.Operations))) {
		under.merge(over, doc)
	}
}

// merge merges one level into the levels below. At each level, the inputs of an
// operation win over those of its interface.
func (i *Interface) merge(over *grammar.Interface, doc *grammar.Document) {
	assign(i.Inputs, over.Inputs, doc)
	for _, o := range i.Operations {
		assign(o.Inputs, over.Inputs, doc)
	}
	for at, o := range append(slices.Clone(over.Operations), over.Notifications...) {
		made := i.Operations[o.Name]
		if made == nil {
			made = &Operation{
				Inputs: maps.Clone(i.Inputs), Outputs: map[string]*data.Definition{}, Mapped: map[string]bool{}, Notice: at >= len(over.Operations),
			}
			i.Operations[o.Name] = made
		}
		if made.At == nil || Implemented(o) || !Implemented(made.At) {
			made.At = o
		}
		assign(made.Inputs, o.Inputs, doc)
		for _, p := range o.Outputs {
			def := data.From(p, doc)
			def.Refines = made.Outputs[p.Name]
			made.Outputs[p.Name] = def
			made.Mapped[p.Name] = made.Mapped[p.Name] || p.Mapping != nil
		}
	}
}

func Implemented(o *grammar.Operation) bool { return o.Implementation.Name != "" || o.Primary != nil }

// assign merges definitions and values. A value keeps its definition.
func assign(to map[string]Parameter, inputs []*grammar.Property, doc *grammar.Document) {
	for _, p := range inputs {
		made := to[p.Name]
		made.At = p
		if p.Type.Name != "" || p.Default != nil || p.Value == nil {
			under := made.Def
			made.Def, made.Value = data.From(p, doc), nil
			made.Def.Refines = under
		}
		if p.Value != nil {
			made.Value = p.Value
		}
		to[p.Name] = made
	}
}
