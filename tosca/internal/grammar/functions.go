package grammar

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/source"
)

// functions reads definitions of functions (TOSCA 2.0, 10.4). Those within a
// service template refine those of the same name outside.
func (r *reader) functions(local bool) func(*source.Node) {
	return func(n *source.Node) {
		r.byName(n, "functions", func(k, v *source.Node) {
			made := &FunctionDef{Name: k.Text, Pos: k.Pos(), Doc: r.doc, Local: local}
			of := fmt.Sprintf("function %q", made.Name)
			if strings.Contains(made.Name, "$") {
				r.Errorf(k.Pos(), code.Shape, "%s: the name of a function cannot have a \"$\" in it", of)
			}
			r.fields(v, of, []field{
				{"description", r.setText(&made.Description, of+": description"), everyVersion},
				{"signatures", func(n *source.Node) { made.Signatures = r.signatures(n, of) }, everyVersion},
			})
			if len(made.Signatures) == 0 {
				r.Errorf(made.Pos, code.Untyped, "%s has no signatures", of)
			}
			r.doc.Functions = append(r.doc.Functions, made)
		})
	}
}

// refined is a function with what a definition within a service template changes
// of it: the implementations of signatures, in their order, and further
// signatures.
func (l *loader) refined(f, by *FunctionDef) *FunctionDef {
	made := *by
	made.Signatures = slices.Clone(f.Signatures)
	for i, s := range by.Signatures {
		if i >= len(made.Signatures) {
			made.Signatures = append(made.Signatures, s)
			continue
		}
		if !s.same(made.Signatures[i]) {
			l.Errorf(s.Pos, code.Together, "function %q: signature %d is defined outside of the service template, so only its implementation can be changed", f.Name, i+1)
		}
		if s.Implementation != nil {
			changed := *made.Signatures[i]
			changed.Implementation = s.Implementation
			made.Signatures[i] = &changed
		}
	}
	return &made
}

// same reports whether a signature says of arguments and result what another one
// says, or nothing.
func (s *Signature) same(as *Signature) bool {
	said := len(s.Arguments) > 0 || len(s.Optional) > 0 || s.Variadic != nil || s.Result != nil
	list := func(a, b []*Schema) bool { return slices.EqualFunc(a, b, (*Schema).same) }
	return !said || list(s.Arguments, as.Arguments) && list(s.Optional, as.Optional) && s.Result.same(as.Result) && (s.Variadic == nil) == (as.Variadic == nil)
}

func (s *Schema) same(as *Schema) bool {
	if s == nil || as == nil {
		return s == as
	}
	return s.Type.Name == as.Type.Name && s.Entry.same(as.Entry) && s.Key.same(as.Key)
}

func (r *reader) signatures(n *source.Node, of string) []*Signature {
	var all []*Signature
	each := func(n *source.Node) { all = append(all, r.signature(n, of+": a signature")) }
	if !n.IsNull() && n.Kind == source.Map { // the table of the standard has a map, its grammar a list
		r.byName(n, of+": signatures", func(_, v *source.Node) { each(v) })
		return all
	}
	r.items(n, of+": signatures", each)
	return all
}

func (r *reader) signature(n *source.Node, of string) *Signature {
	s := &Signature{Pos: n.Pos()}
	variadic := false
	r.fields(n, of, []field{
		{"arguments", func(n *source.Node) { s.Arguments = r.schemas(n, of+": arguments") }, everyVersion},
		{"optional_arguments", func(n *source.Node) { s.Optional = r.schemas(n, of+": optional_arguments") }, everyVersion},
		{"variadic", r.setBool(&variadic, of+": variadic"), everyVersion},
		{"result", func(n *source.Node) { s.Result = r.schema(n, of+": result") }, everyVersion},
		{"implementation", func(n *source.Node) {
			s.Implementation = &Operation{Pos: n.Pos(), File: r.doc.File, Embedded: r.doc.Embedded}
			r.implementation(s.Implementation, n, of+": implementation")
		}, everyVersion},
	})
	if variadic {
		s.Variadic = &Schema{Pos: s.Pos} // of any type, where there are no arguments
		for _, list := range [][]*Schema{s.Arguments, s.Optional} {
			if len(list) > 0 {
				s.Variadic = list[len(list)-1]
			}
		}
	}
	return s
}

func (r *reader) schemas(n *source.Node, of string) []*Schema {
	var all []*Schema
	r.items(n, of, func(item *source.Node) { all = append(all, r.schema(item, "an entry of "+of)) })
	return all
}
