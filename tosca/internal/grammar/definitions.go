package grammar

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toskose/toskose/internal/suggest"
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/source"
)

// properties reads definitions of properties, or of the inputs of operations. isValue
// reports whether an entry is a value, not a definition.
func (r *reader) properties(n *source.Node, of string, isValue func(*source.Node) bool) []*Property {
	var all []*Property
	r.byName(n, of, func(k, v *source.Node) {
		p := &Property{Name: k.Text, Pos: k.Pos(), Required: true}
		all = append(all, p)
		switch {
		case isValue(v):
			p.Value = v
		case v.Kind == source.String && !r.doc.V2(): // the short form of a parameter is its type
			p.Type, p.Short = r.ref(v, of), v
		default:
			of := fmt.Sprintf("%s: %q", of, p.Name)
			r.property(p, v, of)
			if r.doc.V2() {
				r.reportMisplaced(v, of, "an input of an operation, or a property,", "mapping")
			}
		}
	})
	return all
}

// isInput reports whether an input is an assignment, not a definition.
func (r *reader) isInput(n *source.Node) bool { return r.assigns || !n.IsNull() && !r.defines(n) }

// isLoneInput reports whether an input of 1.3 is written as its value (TOSCA 1.3,
// 3.6.14.2). The input is then fixed, which the author hardly means.
func (r *reader) isLoneInput(n *source.Node) bool {
	return r.doc.Version == version13 && !n.IsNull() && n.Kind != source.String && n.Kind != source.Map
}

// isFixed reports whether an entry is a value for an inherited property. In 1.3 a string
// may be a value or a type (TOSCA 1.3, 3.6.10.6), and a map without a function call is a
// definition.
func (r *reader) isFixed(n *source.Node) bool {
	switch {
	case n.IsNull():
		return false
	case r.doc.V2():
		return !r.defines(n)
	}
	fixed := n.Kind != source.String && (n.Kind != source.Map || isCall(n))
	if fixed && r.doc.Version != version13 {
		r.Warnf(n.Pos(), code.Shape, "a value in place of a definition needs TOSCA 1.3: it is read as the value of the inherited property")
	}
	return fixed
}

// attributes reads definitions of attributes. 2.0 has no short form. In 1.x an attribute
// of a type may be a function alone (TOSCA 1.3, 13.4.1).
func (r *reader) attributes(n *source.Node, of string) []*Property {
	if !r.doc.V2() {
		for k, v := range n.Pairs() {
			if required := v.Get("required"); v.Kind == source.Map && required != nil {
				r.Warnf(required.Pos(), code.Keyword, "%s: %q: an attribute cannot be required, as a property is", of, k.Text)
			}
		}
		return r.properties(n, of, isCall)
	}
	var all []*Property
	r.byName(n, of, func(k, v *source.Node) {
		p := &Property{Name: k.Text, Pos: k.Pos(), Required: true}
		all = append(all, p)
		of := fmt.Sprintf("%s: %q", of, p.Name)
		r.property(p, v, of)
		r.reportMisplaced(v, of, "an attribute", "required", "value", "mapping")
	})
	return all
}

// inputs reads the inputs of a service template or workflow. In 2.0 the short form is
// the attribute that the input is mapped to, and an input has no value (TOSCA 2.0, 9.8).
func (r *reader) inputs(n *source.Node, of string) []*Property {
	if !r.doc.V2() {
		for k, v := range n.Pairs() {
			if r.isLoneInput(v) {
				r.Warnf(v.Pos(), code.Shape, "%s: %q is a constant value: a definition has a type, and perhaps a default", of, k.Text)
			}
		}
		return r.properties(n, of, r.isLoneInput)
	}
	var all []*Property
	r.byName(n, of, func(k, v *source.Node) {
		p := &Property{Name: k.Text, Pos: k.Pos(), Required: true}
		all = append(all, p)
		if v.Kind == source.List {
			p.Mapping = v
			return
		}
		of := fmt.Sprintf("%s: %q", of, p.Name)
		r.property(p, v, of)
		r.reportMisplaced(v, of, "an input", "value")
	})
	return all
}

// reportMisplaced reports keywords that a definition may have in other places only.
func (r *reader) reportMisplaced(n *source.Node, of, what string, keys ...string) {
	for k := range n.Pairs() {
		if slices.Contains(keys, k.Text) {
			r.Errorf(k.Pos(), code.Keyword, "%s: %s cannot have %q", of, what, k.Text)
		}
	}
}

// parameterKeywords are the keywords of a parameter. Those that are true identify a
// definition, as values that are maps rarely have them.
var parameterKeywords = map[string]bool{
	"type": true, "default": true, "required": true, "description": true, "value": true, "mapping": true, "validation": true,
	"constraints": true, "status": false, "entry_schema": false, "key_schema": false, "metadata": false, "external-schema": false,
}

// isDefinition reports whether a map is the definition of a parameter, not a value: all
// its keys are keywords, or misspelt keywords. A map with nothing but a type that is not
// a name is a value.
func isDefinition(n *source.Node) bool {
	if n.Kind != source.Map {
		return false
	}
	defines := false
	for k, v := range n.Pairs() {
		word := k.Text
		if _, known := parameterKeywords[word]; !known {
			word = suggest.Nearest(word, tellingKeywords)
		}
		tells, known := parameterKeywords[word]
		if !known {
			return false
		}
		defines = defines || tells && (word != "type" || v.Kind == source.String)
	}
	return defines
}

// tellingKeywords are those of parameterKeywords that identify a definition.
var tellingKeywords = func() []string {
	words := slices.Sorted(maps.Keys(parameterKeywords))
	return slices.DeleteFunc(words, func(word string) bool { return !parameterKeywords[word] })
}()

// defines is isDefinition, but also accepts a map with a type, and in 2.0 one with
// schemas.
func (r *reader) defines(n *source.Node) bool {
	if isDefinition(n) {
		return true
	}
	typ := n.Get("type")
	return typ != nil && typ.Kind == source.String || r.doc.V2() && (n.Get("entry_schema") != nil || n.Get("key_schema") != nil)
}

// property reads the keywords of a property, attribute or parameter (TOSCA 1.3,
// 3.6.10 to 3.6.14; 2.0, 9.4 to 9.8).
func (r *reader) property(p *Property, n *source.Node, of string) {
	r.fields(n, of, []field{
		{"type", r.setRef(&p.Type, of+": type"), everyVersion},
		{"description", r.setText(&p.Description, of+": description"), everyVersion},
		{"required", func(n *source.Node) {
			p.RequiredPos = n.Pos()
			r.setBool(&p.Required, of+": required")(n)
		}, everyVersion},
		{"default", setNode(&p.Default), everyVersion},
		{"value", setNode(&p.Value), everyVersion},
		{"mapping", func(n *source.Node) {
			p.Mapping = n
			if !n.IsNull() && n.Kind != source.List && r.doc.V2() {
				r.Errorf(n.Pos(), code.Shape, "%s must be mapped to an attribute by a list, not %s", of, aKind(n.Kind))
			}
		}, everyVersion},
		{"status", func(n *source.Node) { p.Status = r.status(n, of) }, everyVersion},
		{"external-schema", ignored, first},
		{"constraints", func(n *source.Node) { p.Constraints = r.constraints(n, of) }, first},
		{"validation", setNode(&p.Validation), second},
		{"key_schema", func(n *source.Node) { p.KeySchema = r.schema(n, of+": key_schema") }, everyVersion},
		{"entry_schema", func(n *source.Node) {
			p.EntrySchema = r.schema(n, of+": entry_schema")
			p.EntryType, p.Entry = p.EntrySchema.Type, p.EntrySchema.Constraints
		}, everyVersion},
	})
	if p.Value != nil && p.Mapping != nil {
		r.Errorf(p.Pos, code.Together, "%s has a value and a mapping, and may have one of them only", of)
	}
}

// statuses are the valid statuses of a definition (TOSCA 1.3, 3.6.10.3).
var statuses = []string{"supported", "unsupported", "experimental", "deprecated"}

func (r *reader) status(n *source.Node, of string) Ref {
	status := r.ref(n, of+": status")
	if status.Name != "" && !r.doc.V2() && !slices.Contains(statuses, status.Name) {
		r.Unknown(status.Pos, code.Shape, status.Name, statuses, "%s: status %q is not one of supported, unsupported, experimental, deprecated", of, status.Name)
	}
	return status
}

// schema reads a key or entry schema: a type, or a map.
func (r *reader) schema(n *source.Node, of string) *Schema {
	s := &Schema{Pos: n.Pos()}
	if n.IsNull() && r.doc.V2() {
		r.Errorf(s.Pos, code.Untyped, "%s has no type", of)
		return s
	}
	if !n.IsNull() && n.IsScalar() {
		s.Type = r.ref(n, of)
		return s
	}
	refines := r.refines && r.doc.V2()
	r.refines = false
	r.fields(n, of, []field{
		{"type", r.setRef(&s.Type, of+": type"), everyVersion},
		{"required", ignored, first},
		{"default", ignored, first},
		{"constraints", func(n *source.Node) { s.Constraints = r.constraints(n, of) }, first},
		{"validation", setNode(&s.Validation), second},
		{"key_schema", func(n *source.Node) { s.Key = r.schema(n, of+": key_schema") }, everyVersion},
		{"entry_schema", func(n *source.Node) { s.Entry = r.schema(n, of+": entry_schema") }, everyVersion},
	})
	r.refines = refines
	switch {
	case s.Type.Name != "" || n.Kind != source.Map:
	case refines:
		s.Untyped = true
	default:
		r.Errorf(s.Pos, code.Untyped, "%s has no type", of)
	}
	return s
}

var operators = []string{
	"equal", "greater_than", "greater_or_equal", "less_than", "less_or_equal",
	"in_range", "valid_values", "length", "min_length", "max_length", "pattern", "schema",
}

// constraints reads a list or map of constraint clauses. A value alone stands for
// "equal" (TOSCA 1.3, 3.6.3.3).
func (r *reader) constraints(n *source.Node, of string) []*Constraint {
	var all []*Constraint
	add := func(k, v *source.Node) {
		if c := r.constraint(k, v, of); c != nil {
			all = append(all, c)
		}
	}
	alone := func(n *source.Node) { all = append(all, equal(n)) }
	r.entriesOrAlone(n, of+": constraints", add, alone)
	return all
}

func equal(to *source.Node) *Constraint {
	return &Constraint{Pos: to.Pos(), Operator: "equal", Operand: to}
}

func (r *reader) constraint(k, v *source.Node, of string) *Constraint {
	for _, known := range operators {
		if k.Text == known {
			return &Constraint{Pos: k.Pos(), Operator: k.Text, Operand: v}
		}
	}
	r.Unknown(k.Pos(), code.Constraint, k.Text, operators, "%s: unknown constraint %q", of, k.Text)
	return nil
}

// functions reads definitions of functions (TOSCA 2.0, 10.4). A definition in a service
// template refines the one of the same name outside.
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

// refined returns a function as refined by a definition in a service template. That may
// change the implementations of signatures, by their order, and add signatures.
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

// same reports whether a signature has no arguments and result, or those of another one.
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
	if !n.IsNull() && n.Kind == source.Map { // a map in the text of the standard, a list in its grammar
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
		s.Variadic = &Schema{Pos: s.Pos} // of any type if there are no arguments
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
