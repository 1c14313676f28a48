package grammar

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/source"
)

// standardType may be written in place of the interface's name.
const standardType = "tosca.interfaces.node.lifecycle.Standard"

func (r *reader) interfaces(n *source.Node, of string) []*Interface {
	var all []*Interface
	r.byName(n, of+": interfaces", func(k, v *source.Node) {
		i := &Interface{Name: k.Text, Pos: k.Pos()}
		if i.Name == standardType || i.Name == "tosca:Standard" {
			i.Name = "Standard"
		}
		all = append(all, i)
		of := of + ": interface " + diag.Quote(i.Name)
		r.byName(v, of, func(k, v *source.Node) {
			if k.Text == "type" {
				i.Type = r.ref(v, of, ": type")
				return
			}
			r.interfaceKeyword(i, k, v, of)
		})
	})
	r.checkDuplicates(all, of)
	return all
}

// checkDuplicates reports operations that are defined twice: as a keyword and in
// `operations`, or in an interface and again by its other name.
func (r *reader) checkDuplicates(all []*Interface, of string) {
	seen := map[string]diag.Position{}
	for _, i := range all {
		for _, o := range i.Operations {
			name := diag.Quote(i.Name + "." + o.Name)
			r.once(seen, name, o.Pos, of+": operation "+name)
		}
	}
}

// once reports the second definition of a name.
func (r *reader) once(seen map[string]diag.Position, name string, at diag.Position, of string) {
	if first, again := seen[name]; again {
		r.Errorf(at, code.Together, "%s is defined twice (first in line %d)", of, first.Line)
		return
	}
	seen[name] = at
}

// interfaceKeyword reads keywords of interfaces and interface types. Operations are
// keywords themselves (1.0 to 1.2), or entries of `operations` (1.3).
func (r *reader) interfaceKeyword(i *Interface, k, v *source.Node, of string) {
	switch k.Text {
	case "inputs":
		i.Inputs = r.properties(v, of+": inputs", r.isInput)
	case "operations":
		i.Operations = append(i.Operations, r.operations(v, of, "operation")...)
	case "notifications":
		i.Notifications = append(i.Notifications, r.operations(v, of, "notification")...)
	default:
		if !r.common(k, v, of) {
			if r.doc.V2() {
				r.Errorf(k.Pos(), code.Other, "%s: operation %q is outside of \"operations\", as in TOSCA 1.2", of, k.Text)
			}
			i.Operations = append(i.Operations, r.operation(k, v, of, "operation"))
		}
	}
}

func (r *reader) operations(n *source.Node, of, what string) []*Operation {
	var all []*Operation
	if n.Kind == source.List && !r.doc.V2() { // a list of names
		r.items(n, of, func(item *source.Node) {
			all = append(all, r.operation(item, source.Scalar(source.Null, "", item), of, what))
		})
		return all
	}
	r.byName(n, of+": "+what+"s", func(k, v *source.Node) { all = append(all, r.operation(k, v, of, what)) })
	return all
}

// operation reads an operation or notification (TOSCA 1.3, 3.6.17 and 3.6.19; 2.0, 11.4
// to 11.7). Its short form is the implementation.
func (r *reader) operation(k, v *source.Node, of, what string) *Operation {
	o := &Operation{Name: k.Text, Pos: k.Pos(), File: r.doc.File, Embedded: r.doc.Embedded}
	of += ": " + what + " " + diag.Quote(o.Name)
	if v.Kind == source.String {
		o.Implementation = r.ref(v, of)
		return o
	}
	if v.Kind == source.Map && (v.Get("primary") != nil || v.Get("dependencies") != nil) {
		r.implementation(o, v, of)
		return o
	}
	r.fields(v, of, []field{
		{"implementation", func(n *source.Node) { r.implementation(o, n, of+": implementation") }, everyVersion},
		{"inputs", func(n *source.Node) { o.Inputs = r.properties(n, of+": inputs", r.isInput) }, everyVersion},
		{"outputs", func(n *source.Node) { o.Outputs = r.mappings(n, of+": outputs") }, everyVersion},
	})
	return o
}

// mappings reads outputs: the attribute that each is mapped to, or in 2.0 also a
// definition.
func (r *reader) mappings(n *source.Node, of string) []*Property {
	var all []*Property
	r.byName(n, of, func(k, v *source.Node) {
		p := &Property{Name: k.Text, Pos: k.Pos(), Required: true}
		all = append(all, p)
		if r.defines(v) || v.IsNull() {
			of := fmt.Sprintf("%s: %q", of, p.Name)
			r.property(p, v, of)
			if r.doc.V2() {
				r.reportMisplaced(v, of, "an output of an operation", "value")
			}
			return
		}
		if v.Kind != source.List && r.doc.V2() {
			r.Errorf(v.Pos(), code.Shape, "%s: %q must be mapped to an attribute by a list, not %s", of, p.Name, aKind(v.Kind))
		}
		p.Mapping = v
	})
	return all
}

func (r *reader) implementation(o *Operation, n *source.Node, of string) {
	if n.Kind != source.Map {
		o.Implementation = r.ref(n, of)
		return
	}
	if n.Get("file") != nil && !r.doc.V2() { // an inline artifact
		o.Primary, o.Implementation = r.inlineArtifact(n, of)
		return
	}
	r.fields(n, of, []field{
		{"primary", func(n *source.Node) { o.Primary, o.Implementation = r.inlineArtifact(n, of+": primary") }, everyVersion},
		{"dependencies", func(n *source.Node) {
			r.items(n, of+": dependencies", func(item *source.Node) {
				a, file := r.inlineArtifact(item, of+": a dependency")
				o.Dependencies = append(o.Dependencies, file)
				if a != nil {
					o.Inline = append(o.Inline, a)
				}
			})
		}, everyVersion},
		{"timeout", func(n *source.Node) { r.timeout(o, n, of+": timeout") }, everyVersion},
		{"operation_host", r.setRef(&o.Host, of, ": operation_host"), first},
	})
}

// inlineArtifact reads the name or file of an artifact, or an inline artifact.
func (r *reader) inlineArtifact(n *source.Node, of string) (*Artifact, Ref) {
	if n.Kind != source.Map {
		return nil, r.ref(n, of)
	}
	a := &Artifact{Pos: n.Pos(), In: r.doc.File}
	r.artifact(a, n, of)
	if a.Type.Name == "" && a.File.Name != "" && r.doc.V2() {
		r.Errorf(a.Pos, code.Untyped, "%s has no type", of)
	}
	return a, a.File
}

// timeouts are the time units of 1.3, in seconds.
var timeouts = map[string]float64{"d": 86400, "h": 3600, "m": 60, "s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}

// timeout reads a number of seconds, or since 1.3 a number with a unit.
func (r *reader) timeout(o *Operation, n *source.Node, of string) {
	if n.Kind == source.String {
		number := strings.TrimRight(n.Text, "abcdefghijklmnopqrstuvwxyz ")
		unit, known := timeouts[strings.TrimSpace(n.Text[len(number):])]
		if value, err := strconv.ParseFloat(number, 64); known && err == nil && value >= 0 && value*unit < 1e9 {
			o.Timeout = max(int(value*unit), min(1, int(value*1e9)))
			return
		}
	}
	r.setInt(&o.Timeout, of)(n)
}

// artifacts reads artifacts by name (TOSCA 1.3, 3.6.7; 2.0, 12.2).
func (r *reader) artifacts(n *source.Node, of string) []*Artifact {
	var all []*Artifact
	r.definitions(n, of+": artifacts", func(k, v *source.Node) {
		a := &Artifact{Name: k.Text, Pos: k.Pos(), In: r.doc.File}
		all = append(all, a)
		of := of + ": artifact " + diag.Quote(a.Name)
		if !v.IsNull() && v.IsScalar() && !r.doc.V2() {
			a.File = r.ref(v, of)
			return
		}
		a.long = true
		r.artifact(a, v, of)
		if a.File.Name != "" && a.Type.Name == "" && (r.doc.V2() || !r.assigns) { // a template of 1.x may inherit the type
			r.Errorf(a.Pos, code.Untyped, "%s has no type", of)
		}
	})
	return all
}

func (r *reader) artifact(a *Artifact, n *source.Node, of string) {
	computed := false
	version := r.setComputed(&a.Version, &a.Computed, of, ": artifact_version")
	r.fields(n, of, []field{
		{"type", r.setRef(&a.Type, of, ": type"), everyVersion},
		{"file", func(n *source.Node) {
			computed = r.isCall(n)
			r.setComputed(&a.File, &a.Computed, of, ": file")(n)
		}, everyVersion},
		{"repository", r.setRef(&a.Repository, of, ": repository"), everyVersion},
		{"deploy_path", r.setRef(&a.Deploy, of, ": deploy_path"), first},
		{"version", version, everyVersion},
		{"artifact_version", version, everyVersion},
		{"checksum", r.setComputed(&a.Checksum, &a.Computed, of, ": checksum"), everyVersion},
		{"checksum_algorithm", r.setComputed(&a.Algorithm, &a.Computed, of, ": checksum_algorithm"), everyVersion},
		{"properties", r.setAssignments(&a.Properties, of, ": properties"), everyVersion},
		{"mime_type", ignored, first},
	})
	if a.File.Name == "" && !computed {
		r.Errorf(a.Pos, code.Untyped, "%s needs a file", of)
	}
	if a.Checksum.Name != "" && n.Get("checksum_algorithm").IsNull() {
		r.Errorf(a.Checksum.Pos, code.Untyped, "%s has a checksum, but no checksum_algorithm", of)
	}
}
