package resolve

import (
	"maps"
	"slices"
	"strings"

	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

// Parameter is an input of an operation while it is put together.
type Parameter struct {
	Def   *data.Definition // nil where it was only assigned
	Value *source.Node     // nil: the definition's default
	At    *grammar.Property
}

// Operation is an operation or notification while it is put together from
// types and template.
type Operation struct {
	At      *grammar.Operation // where its implementation stands; else where it was last named
	Inputs  map[string]Parameter
	Outputs map[string]*data.Definition
	notice  bool            // it is a notification
	mapped  map[string]bool // outputs that are written to an attribute
}

// Interface is an interface while it is put together.
type Interface struct {
	Operations map[string]*Operation // notifications, too
	typ        *grammar.Type         // nil: none is named, or unknown
	inputs     map[string]Parameter  // of all operations
	vague      bool                  // its type is not known, so it may have any operation
}

// Interfaces puts together what types and template say of a node's interfaces,
// and reports what the template names that its type does not have. What it
// gives is only read.
func (s *Service) Interfaces(n *Node) map[string]*Interface {
	return s.assignTo(s.typeInterfaces(n.Typ.Type), n.Interfaces, n.Doc, n.Of())
}

// QuietInterfaces is Interfaces for one who does not report on them.
func (s *Service) QuietInterfaces(n *Node) map[string]*Interface {
	s.quiet = true
	defer func() { s.quiet = false }()
	return s.Interfaces(n)
}

// typeInterfaces puts together the interfaces of a node, relationship or group
// type, once.
func (s *Service) typeInterfaces(t *Type) map[string]*Interface {
	if made, ok := s.faces[t.Type]; ok {
		return made
	}
	all := map[string]*Interface{}
	for _, at := range t.ifaces {
		for _, i := range at.Interfaces {
			if all[i.Name] == nil {
				all[i.Name] = s.newInterface()
			}
			s.extend(all[i.Name], i, at.Doc)
		}
	}
	s.faces[t.Type] = all
	return all
}

func (s *Service) newInterface() *Interface {
	return &Interface{inputs: map[string]Parameter{}, Operations: map[string]*Operation{}}
}

// extend lays a definition over an interface, below it what its own type says.
func (s *Service) extend(made *Interface, i *grammar.Interface, doc *grammar.Document) {
	if typ := doc.Scope().Lookup(grammar.InterfaceType, i.Type.Name); i.Type.Name != "" {
		made.vague = made.vague || typ == nil || !s.inherit(typ).Whole
		if typ != nil && made.typ != typ {
			made.typ = typ
			for _, base := range slices.Backward(Ancestors(typ)) {
				for _, inherited := range base.Interfaces {
					s.lay(made, inherited, base.Doc)
				}
			}
		}
	}
	s.lay(made, i, doc)
}

// relationInterfaces are the interfaces of a relationship: of its type, and as
// the requirement that makes it refines them.
func (s *Service) relationInterfaces(t *grammar.Type, def *RequirementDef, _ *grammar.Document) map[string]*Interface {
	faces := s.typeInterfaces(s.inherit(t))
	if def == nil || len(def.Interfaces) == 0 {
		return faces
	}
	faces = s.cloned(faces)
	for _, i := range def.Interfaces {
		if made := find(faces, i.Name, def.doc); made != nil {
			s.extend(made, i, def.doc)
		}
	}
	return faces
}

// cloned copies interfaces with all that is in them.
func (s *Service) cloned(faces map[string]*Interface) map[string]*Interface {
	all := make(map[string]*Interface, len(faces))
	for name, i := range faces {
		all[name] = s.layered(i, nil)
	}
	return all
}

// layered copies an interface for a definition to be laid over it: what that
// leaves alone is shared. Nil stands for one that may change everything.
func (s *Service) layered(i *Interface, over *grammar.Interface) *Interface {
	made := *i
	made.Operations = maps.Clone(i.Operations)
	cost := len(i.Operations)
	touch := func(name string) {
		if o := i.Operations[name]; o != nil {
			cost += len(o.Inputs) + len(o.Outputs)
			made.Operations[name] = &Operation{At: o.At, Inputs: maps.Clone(o.Inputs), Outputs: maps.Clone(o.Outputs), notice: o.notice, mapped: maps.Clone(o.mapped)}
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
		made.inputs = maps.Clone(i.inputs)
		for name := range i.Operations {
			if !s.Spent() {
				touch(name)
			}
		}
	}
	s.Spend(cost)
	return &made
}

// find gives the interface of a name, which may be that of its type.
func find(faces map[string]*Interface, name string, doc *grammar.Document) *Interface {
	return faces[nameOf(faces, name, doc)]
}

// nameOf gives the name that an interface has, which may be called by its type;
// of several of one type it is the first by name.
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
		if i.typ == typ && (!found || other < first) {
			found, first = true, other
		}
	}
	return first
}

// assignTo lays what a template says over the interfaces of its type. Up to
// 1.3 a template may add an interface of its own, if it names the type.
func (s *Service) assignTo(faces map[string]*Interface, assigned []*grammar.Interface, doc *grammar.Document, of string) map[string]*Interface {
	if len(assigned) == 0 {
		return faces
	}
	if !s.Spend(len(faces)) {
		return faces
	}
	all := maps.Clone(faces)
	first := map[[2]string]string{} // by interface and operation: what the interface is called where it is assigned
	for _, i := range assigned {
		if all[i.Name] == nil && !s.Spend(len(all)) { // all are looked at
			break
		}
		name := nameOf(all, i.Name, doc)
		made := all[name]
		if made != nil {
			made = s.layered(made, i)
			all[name] = made
			s.onceEach(first, name, i, of)
		}
		if made == nil && !second(doc) && (i.Type.Name != "" || strings.Contains(i.Name, ".")) {
			all[i.Name] = s.added(i, doc, of)
			continue
		}
		if made == nil {
			if !s.quiet {
				s.Unknown(i.Pos, codeIfaceUnknown, i.Name, suggestable(s, faces), "%s has no interface %q", of, i.Name)
			}
			continue
		}
		if !made.vague && !s.quiet {
			s.onlyDefined(i, made, doc, of+": interface "+quote(i.Name))
			s.notFixed(i, find(faces, i.Name, doc), doc, of+": interface "+quote(i.Name))
		}
		s.lay(made, i, doc)
	}
	return all
}

// onceEach says which operations a template assigns twice, in an interface by its
// name and by that of its type. Where one name is there twice, that was said.
func (s *Service) onceEach(first map[[2]string]string, name string, i *grammar.Interface, of string) {
	for _, o := range i.Operations {
		key := [2]string{name, o.Name}
		before, again := first[key]
		if again && before != i.Name && !s.quiet {
			s.Errorf(o.Pos, codeTogether, "%s: operation %s is here twice, in interface %q and in %q", of, quote(name+"."+o.Name), before, i.Name)
		}
		if !again {
			first[key] = i.Name
		}
	}
}

// added is an interface that a template of 1.x has and its type has not: it names
// its type, or is called by it. The standard's own examples have some whose type
// they do not define (TOSCA 1.3, 7.3.2.1).
func (s *Service) added(i *grammar.Interface, doc *grammar.Document, of string) *Interface {
	made, typed := s.newInterface(), *i
	if i.Type.Name == "" {
		typed.Type = grammar.Ref{Name: i.Name, Pos: i.Pos}
	}
	known := doc.Scope().Lookup(grammar.InterfaceType, typed.Type.Name) != nil
	switch {
	case s.quiet || known:
	case i.Type.Name != "":
		s.known(doc, grammar.InterfaceType, i.Type, of+": interface "+quote(i.Name))
	default:
		s.Warnf(i.Pos, codeIfaceUnknown, "%s has no interface %q, and there is no interface type of this name", of, i.Name)
	}
	s.extend(made, &typed, doc)
	return made
}

// lay merges one level into an interface, unless that is too much work.
func (s *Service) lay(under *Interface, over *grammar.Interface, doc *grammar.Document) {
	if s.Spend((1 + len(over.Inputs)) * (1 + len(under.Operations) + len(over.Operations))) {
		under.merge(over, doc)
	}
}

// merge lays one level over the ones below it: at each level an operation's
// own inputs win over those of its interface.
func (i *Interface) merge(over *grammar.Interface, doc *grammar.Document) {
	assign(i.inputs, over.Inputs, doc)
	for _, o := range i.Operations {
		assign(o.Inputs, over.Inputs, doc)
	}
	for at, o := range append(slices.Clone(over.Operations), over.Notifications...) {
		made := i.Operations[o.Name]
		if made == nil {
			made = &Operation{
				Inputs: maps.Clone(i.inputs), Outputs: map[string]*data.Definition{}, mapped: map[string]bool{}, notice: at >= len(over.Operations),
			}
			i.Operations[o.Name] = made
		}
		if made.At == nil || implemented(o) || !implemented(made.At) {
			made.At = o
		}
		assign(made.Inputs, o.Inputs, doc)
		for _, p := range o.Outputs {
			def := data.From(p, doc)
			def.Refines = made.Outputs[p.Name]
			made.Outputs[p.Name] = def
			made.mapped[p.Name] = made.mapped[p.Name] || p.Mapping != nil
		}
	}
}

func implemented(o *grammar.Operation) bool { return o.Implementation.Name != "" || o.Primary != nil }

// assign takes definitions and values; a value keeps the definition below it.
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
