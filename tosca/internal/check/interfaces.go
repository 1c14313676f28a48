package check

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/inherit"
	"github.com/toskose/toskose/tosca/internal/resolve"
	"github.com/toskose/toskose/tosca/internal/source"
)

// Interfaces returns the interfaces of a node, and reports interfaces and operations of
// its template that the type does not define.
func Interfaces(g *resolve.Graph, n *resolve.Node) map[string]*inherit.Interface {
	return checkAssigned(g, g.TypeInterfaces(n.Typ.Type), n.Interfaces, n.Doc, n.Of())
}

// checkAssigned merges the interfaces of a template into those of its type, and reports
// undefined ones.
func checkAssigned(g *resolve.Graph, faces map[string]*inherit.Interface, assigned []*grammar.Interface, doc *grammar.Document, of string) map[string]*inherit.Interface {
	first := map[[2]string]string{} // name in the template, by interface and operation
	return g.AssignTo(faces, assigned, doc, func(i *grammar.Interface, name string, made *inherit.Interface) {
		switch {
		case made == nil && inherit.MayAdd(i, doc):
			g.Known(doc, grammar.InterfaceType, i.Type, of+": interface "+quote(i.Name))
		case made == nil && g.Nearest(i.Name, inherit.Candidates(g, faces)) == "":
			g.Errorf(i.Pos, code.IfaceUnknown, "%s has no interface %q: declare an interface type, and an interface of that type in its own type", of, i.Name)
		case made == nil:
			g.Unknown(i.Pos, code.IfaceUnknown, i.Name, inherit.Candidates(g, faces), "%s has no interface %q", of, i.Name)
		default:
			checkDuplicates(g, first, name, i, of)
			if !made.Unresolved {
				checkOperations(g, i, made, doc, of+": interface "+quote(i.Name))
				checkNotFixed(g, i, inherit.Find(faces, i.Name, doc), doc, of+": interface "+quote(i.Name))
			}
		}
	})
}

// checkDuplicates reports operations that a template assigns twice: in an interface by
// its name, and by the name of its type. Two interfaces of one name are reported
// elsewhere.
func checkDuplicates(g *resolve.Graph, first map[[2]string]string, name string, i *grammar.Interface, of string) {
	for _, o := range i.Operations {
		key := [2]string{name, o.Name}
		before, again := first[key]
		if again && before != i.Name {
			g.Errorf(o.Pos, code.Together, "%s: operation %s is assigned twice, in interface %q and in %q", of, quote(name+"."+o.Name), before, i.Name)
		}
		if !again {
			first[key] = i.Name
		}
	}
}

// checkInterfaces checks the assignments of a template to its interfaces.
func checkInterfaces(g *resolve.Graph, assigned []*grammar.Interface, faces map[string]*inherit.Interface, h *resolve.Holder) {
	for _, i := range assigned {
		made := inherit.Find(faces, i.Name, h.Doc)
		if made == nil {
			continue // already reported
		}
		of := h.Of + ": interface " + quote(i.Name)
		for _, p := range i.Inputs {
			checkInput(g, made.Inputs[p.Name], p, h.Place(of+": input "+quote(p.Name)))
		}
		for _, o := range append(slices.Clone(i.Operations), i.Notifications...) {
			checkOperation(g, o, made.Operations[o.Name], h, i.Name)
		}
	}
}

func checkOperation(g *resolve.Graph, o *grammar.Operation, made *inherit.Operation, h *resolve.Holder, face string) {
	of := h.Of + ": operation " + quote(face+"."+o.Name)
	for _, p := range o.Inputs {
		if made != nil {
			checkInput(g, made.Inputs[p.Name], p, h.Place(of+": input "+quote(p.Name)))
		}
	}
	if made != nil && inherit.Implemented(made.At) && g.Spend(len(made.Inputs)) {
		for _, name := range slices.Sorted(maps.Keys(made.Inputs)) {
			p := made.Inputs[name]
			if p.Def != nil && p.Def.Required && p.Value.IsNull() && p.Def.Fallback().IsNull() && p.Def.TypeName() != "" {
				g.Warnf(o.Pos, code.OpMissing, "%s: input %q is required, and has neither a value nor a default", of, name)
			}
		}
	}
	for _, p := range o.Outputs {
		var def *data.Definition
		if made != nil {
			def = made.Outputs[p.Name]
		}
		checkMapping(g, p.Mapping, def, h.Place(of+": output "+quote(p.Name)))
	}
	checkImplementation(g, o, h, of)
}

// isFixed reports whether the parameter has a fixed value. 1.x has none (TOSCA 1.3,
// 3.6.14).
func isFixed(p inherit.Parameter, doc *grammar.Document) bool {
	return p.Def != nil && p.Def.Fixed() && doc.V2()
}

// checkInput checks the value of an input against its definition, if any. An assignment
// to a fixed input is reported elsewhere.
func checkInput(g *resolve.Graph, made inherit.Parameter, p *grammar.Property, at data.Place) {
	if p.Value == nil || isFixed(made, g.Doc) {
		return
	}
	at.Want = made.Def
	if v := g.Values.Eval(p.Value, at); v.OK && made.Def != nil {
		g.Values.CheckValue(v.Moved(p.Value), made.Def, at)
	}
}

// checkInterfaceDefs checks the interfaces that a type defines.
func checkInterfaceDefs(g *resolve.Graph, t *grammar.Type, faces []*grammar.Interface, of string) {
	for _, i := range faces {
		of := of
		if t.Kind != grammar.InterfaceType {
			of += ": interface " + quote(i.Name)
			g.Known(t.Doc, grammar.InterfaceType, i.Type, of)
			checkDefinedOperations(g, t, i, of)
		}
		d := newInterfaceChecker(g, t, i)
		d.parameters(i.Inputs, d.under.Inputs, of)
		for _, o := range append(slices.Clone(i.Operations), i.Notifications...) {
			of := of + ": operation " + quote(o.Name)
			inherited := d.under.Operations[o.Name]
			if inherited == nil {
				inherited = &inherit.Operation{}
			}
			d.parameters(o.Inputs, inherited.Inputs, of)
			d.outputs(o.Outputs, inherited.Outputs, of)
			if t.Kind == grammar.InterfaceType && inherit.Implemented(o) && !t.Doc.V2() { // 2.0 has no such keyword there
				g.Warnf(o.Pos, code.OpImplemented, "%s has an implementation, which only nodes and relationships can have", of)
			}
			checkInlineArtifacts(g, o, data.Place{Of: of, Doc: t.Doc, Self: d.self})
			checkHost(g, o, t.Kind == grammar.NodeType, t.Doc, of)
		}
	}
}

// checkHost checks operation_host: the owner of the interface, its host, or an end of
// the relationship (TOSCA 1.3, 3.6.16).
func checkHost(g *resolve.Graph, o *grammar.Operation, ofNode bool, doc *grammar.Document, of string) {
	places := []string{"SELF", "HOST", "ORCHESTRATOR"}
	if !ofNode {
		places = append(places, "SOURCE", "TARGET")
	}
	if o.Host.Name != "" && doc.V13() && !slices.Contains(places, o.Host.Name) {
		g.Unknown(o.Host.Pos, code.Shape, o.Host.Name, places, "%s: operation_host %q is not one of %s", of, o.Host.Name, strings.Join(places, ", "))
	}
}

// checkDefinedOperations checks that the interface type defines the operations, as 2.0
// requires (TOSCA 2.0, 11.4).
func checkDefinedOperations(g *resolve.Graph, t *grammar.Type, i *grammar.Interface, of string) {
	if !t.Doc.V2() {
		return
	}
	typ := interfaceType(t, i)
	if typ == nil {
		if i.Type.Name == "" && t.DerivedFrom.Name != "" && g.Inherit(t).Complete { // else the grammar reports it
			g.Errorf(i.Pos, code.IfaceType, "%s has no type, and inherits none", of)
		}
		return
	}
	if !g.Inherit(typ).Complete {
		return
	}
	made := g.NewInterface()
	for _, base := range slices.Backward(inherit.Ancestors(typ)) {
		for _, inherited := range base.Interfaces {
			g.Merge(made, inherited, base.Doc)
		}
	}
	checkOperations(g, i, made, t.Doc, of+": "+inherit.Quoted(typ))
}

// interfaceType returns the type of an interface, which may be inherited.
func interfaceType(t *grammar.Type, i *grammar.Interface) *grammar.Type {
	if i.Type.Name != "" {
		return t.Doc.Scope().Lookup(grammar.InterfaceType, i.Type.Name)
	}
	for _, at := range inherit.Ancestors(t)[1:] {
		for _, old := range at.Interfaces {
			if old.Name == i.Name && old.Type.Name != "" {
				return at.Doc.Scope().Lookup(grammar.InterfaceType, old.Type.Name)
			}
		}
	}
	return nil
}

// ArtifactTypes reports unknown and missing types of a template's artifacts.
func ArtifactTypes(g *resolve.Graph, n *resolve.Node) {
	for _, a := range n.Artifacts {
		of := n.Of() + ": artifact " + quote(a.Name)
		if a.Type.Name != "" {
			g.Lookup(n.Doc, grammar.ArtifactType, a.Type, of)
		} else if a.Untyped() && !n.Doc.V2() && !inheritsArtifact(n, a.Name) {
			g.Errorf(a.Pos, code.Untyped, "%s has no type", of)
		}
	}
}

var hasScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)

// checkArtifacts checks the artifacts of a node template. A missing file is a warning,
// as the node is not packaged.
func checkArtifacts(g *resolve.Graph, n *resolve.Node) {
	ArtifactTypes(g, n)
	for _, a := range n.Artifacts {
		of := n.Of() + ": artifact " + quote(a.Name)
		checkArtifact(g, a, n, of)
	}
}

// inheritsArtifact reports whether a node's type has an artifact of a name. The template
// may then omit the type.
func inheritsArtifact(n *resolve.Node, name string) bool {
	return slices.ContainsFunc(n.Typ.Chain, func(t *grammar.Type) bool {
		return slices.ContainsFunc(t.Artifacts, func(a *grammar.Artifact) bool { return a.Name == name })
	})
}

func checkArtifact(g *resolve.Graph, a *grammar.Artifact, n *resolve.Node, of string) {
	checkComputed(g, a, n.Place(of))
	if a.Repository.Name != "" {
		checkRepository(g, a.Repository, n.Doc, of)
	} else {
		checkFileExists(g, a.In, a.File, of)
	}
	if t := g.Inherit(n.Doc.Scope().Lookup(grammar.ArtifactType, a.Type.Name)); t != nil {
		h := resolve.Holder{Graph: g, Self: n, Of: of, Doc: n.Doc, At: a.Pos, Props: t.Props, Complete: t.Complete && !inherit.Bare(t.Type), Assigned: a.Properties}
		checkValues(&h, inherit.Quoted(t.Type))
	}
}

// checkComputed checks functions that compute strings.
func checkComputed(g *resolve.Graph, a *grammar.Artifact, p data.Place) {
	for _, n := range a.Computed {
		checkValue(g, n, "string", p)
	}
}

// IsConstant reports whether nothing of an artifact is computed. It reports functions,
// which cannot be packaged.
func IsConstant(g *resolve.Graph, a *grammar.Artifact, of string) bool {
	for _, n := range a.Computed {
		g.Incomplete(n.Pos(), code.FunctionRuntime, "%s: the result of a function cannot be packaged: write a constant", of)
	}
	return len(a.Computed) == 0
}

// checkRepositories checks the credentials of repositories in 1.x. A string in their
// place is accepted.
func checkRepositories(g *resolve.Graph) {
	for _, doc := range g.Docs {
		if doc.Embedded || doc.Scope() == nil || doc.V2() {
			continue
		}
		for _, name := range inherit.Keys(doc.Repositories) {
			if c := doc.Repositories[name].Credential; c != nil && c.Kind == source.Map {
				checkValue(g, c, "tosca.datatypes.Credential", data.Place{Of: "repository " + quote(name) + ": credential", Doc: doc})
			}
		}
	}
}

func checkRepository(g *resolve.Graph, ref grammar.Ref, doc *grammar.Document, of string) {
	if scope := doc.Scope(); scope.Repository(ref.Name) == nil && !scope.Open() {
		g.Unknown(ref.Pos, code.ArtRepository, ref.Name, scope.RepositoryNames(), "%s is in unknown repository %q", of, ref.Name)
	}
}

// checkFileExists warns if a file is not in the archive.
func checkFileExists(g *resolve.Graph, in string, ref grammar.Ref, of string) {
	if ref.Name == "" || hasScheme.MatchString(ref.Name) || g.IsFile(in, ref.Name) {
		return
	}
	d := g.MissingFile(in, ref, of)
	d.Severity = diag.Warning
	g.Add(d)
}

// checkImplementation checks the implementation of a template's operation: a file, or
// the name of an artifact.
func checkImplementation(g *resolve.Graph, o *grammar.Operation, h *resolve.Holder, of string) {
	n, isNode := h.Self.(*resolve.Node)
	refs := append([]grammar.Ref{o.Implementation}, o.Dependencies...)
	for _, ref := range refs {
		if isNode && ref.Name != "" {
			if _, ok := g.Artifact(n, ref.Name); ok {
				continue
			}
		}
		if o.Primary == nil || o.Primary.Repository.Name == "" {
			checkFileExists(g, o.File, ref, of)
		}
	}
	checkInlineArtifacts(g, o, h.Place(of))
	checkHost(g, o, isNode, h.Doc, of)
}

// checkInlineArtifacts checks the artifacts in an implementation.
func checkInlineArtifacts(g *resolve.Graph, o *grammar.Operation, p data.Place) {
	doc, of := p.Doc, p.Of
	for _, a := range o.Artifacts() {
		checkComputed(g, a, p)
		g.Known(doc, grammar.ArtifactType, a.Type, of)
		if a.Repository.Name != "" && (doc.V2() || a == o.Primary) {
			checkRepository(g, a.Repository, doc, of)
		}
	}
}

// checkTypeArtifacts checks the artifacts of a node type.
func checkTypeArtifacts(g *resolve.Graph, t *grammar.Type, of string) {
	for _, a := range t.Artifacts {
		of := of + ": artifact " + quote(a.Name)
		checkComputed(g, a, data.Place{Of: of, Doc: t.Doc, Self: g.SelfOfType(t)})
		typ := g.Known(t.Doc, grammar.ArtifactType, a.Type, of)
		if !t.Doc.V2() {
			continue
		}
		if a.Repository.Name != "" {
			checkRepository(g, a.Repository, t.Doc, of)
		}
		if made := g.Inherit(typ); made != nil {
			h := resolve.Holder{Graph: g, Self: g.SelfOfType(t), Of: of, Doc: t.Doc, At: a.Pos, Props: made.Props, Complete: made.Complete, Assigned: a.Properties}
			checkValues(&h, inherit.Quoted(typ))
		}
	}
}
