package tosca

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/tosca/csar"
	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/check"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/inherit"
	"github.com/toskose/toskose/tosca/internal/resolve"
)

// Options are what the user adds to a document.
type Options struct {
	// Inputs are values of topology inputs by name: strings, booleans, numbers,
	// lists ([]any) and maps (map[string]any). A string for an input of another
	// type is read as YAML, as from a command line, and where one is wrong, its
	// place is "--input NAME". A Secret is a string that no diagnostic has.
	Inputs map[string]any
	// InputFile is a file of inputs, YAML or JSON; Inputs win over it. Values in
	// it have the types that the file gives them.
	InputFile *InputFile
	// Draft accepts what someone is still writing, and what is not for TosKer: a
	// required input without a value, a file without a topology, what is left to
	// be chosen or substituted, and nodes of other types are warnings. What
	// depends on such an input is not in the model, and such nodes are among its
	// Others.
	Draft bool
	// Withhold leaves out of a draft's model the secrets that the user gave, and what
	// depends on them: each Secret, and what the name of an input calls one.
	Withhold bool
	// Hosts are images by the names of containers. Where one of them alone is not in the
	// topology, and a component leaves its host to a filter that no container fulfils,
	// it is hosted on a container of this name and image.
	Hosts map[string]string
	// Operations are those of components, by their full names, that the user has
	// decided about. One that no transition names is not warned of then.
	Operations map[string][]string
	// Places is filled with where the document says what later steps report about; nil: it is not.
	Places Places
}

// Places are positions in the documents, by what is written there. The model has none, so
// that it does not change with the layout of a document.
type Places map[string]diag.Position

// ShareOf returns the key of a container's bind mount of a host path, by its path there.
func ShareOf(container, at string) string { return container + " share_data " + at }

// OptionsOf returns the key of a volume's options.
func OptionsOf(volume string) string { return volume + " driver_opts" }

func (c *compiler) note(key string, at diag.Position) {
	if c.places != nil {
		c.places[key] = at
	}
}

// Secret is the value of an input that is shown nowhere, whatever the input's name.
type Secret = resolve.Secret

// InputFile is a file of inputs as the user named it, with its content.
type InputFile struct {
	Name string
	Data []byte
}

// HasSecrets reports whether the names in the file say that there are secrets in it:
// then none of its lines should be shown. Diagnostics have none of its secrets.
func (f *InputFile) HasSecrets() bool { return (*resolve.InputFile)(f).HasSecrets() }

// Load makes the application of the archive's entry definition. The list holds
// every problem, sorted, warnings too. The application is nil exactly when the
// error is not; the error is the list when that holds an error, and otherwise
// says why the archive could not be read or that ctx ended. The archive stays
// open.
func Load(ctx context.Context, archive *csar.Archive, opts Options) (*spec.Application, diag.List, error) {
	var found diag.Collector
	docs, err := grammar.Load(ctx, archive, archive.Entry(), &found)
	if err != nil || len(docs) == 0 {
		return nil, found.List(), cmp.Or(err, found.List().Err())
	}
	c := &compiler{archive: archive, draft: opts.Draft, decided: opts.Operations, places: opts.Places}
	c.Graph = resolve.New(archive, docs, resolve.Options{
		Inputs: opts.Inputs, File: (*resolve.InputFile)(opts.InputFile), Draft: opts.Draft, Withhold: opts.Withhold, Noun: noun,
		Host: hostOf(docs[0], opts.Hosts), Attribute: attribute,
	})
	c.Add(found.List()...)
	app, err := c.compile(ctx)
	if err != nil {
		return nil, c.List(), fmt.Errorf("cannot load %q: %w", archive.Name(), err)
	}
	list := c.List()
	if err := list.Err(); err != nil {
		return nil, list, err
	}
	return app, list, nil
}

// hostOf makes the template of the one container that is not in the topology; nil
// where there is none, or several.
func hostOf(doc *grammar.Document, images map[string]string) *grammar.NodeTemplate {
	var host *grammar.NodeTemplate
	for name, image := range images {
		if doc.Topology == nil || slices.ContainsFunc(doc.Topology.Nodes, func(n *grammar.NodeTemplate) bool { return n.Name == name }) {
			continue
		}
		if host != nil {
			return nil
		}
		at := doc.Topology.Pos
		host = &grammar.NodeTemplate{Name: name, Pos: at, Type: grammar.Ref{Name: typeContainer, Pos: at}, Artifacts: []*grammar.Artifact{{
			Name: "image", Pos: at, In: doc.File, File: grammar.Ref{Name: image, Pos: at}, Type: grammar.Ref{Name: "tosker.artifacts.Image", Pos: at},
		}}}
	}
	return host
}

// compiler gives a service template the meaning that TosKer gives it. It goes
// on where resolve ends, and reports through it.
type compiler struct {
	*resolve.Graph
	archive *csar.Archive
	draft   bool
	decided map[string][]string // operations by component
	places  Places
	nodes   []*node // in the order written
	byNode  map[*resolve.Node]*node
	scripts map[string]bool // scripts that were looked into
	images  map[string]bool // names of images that are right
}

func (c *compiler) compile(ctx context.Context) (*spec.Application, error) {
	if err := check.Document(ctx, c.Graph); err != nil {
		return nil, err
	}
	if c.Topo == nil {
		return c.emptyApplication(), nil
	}
	c.classify()
	c.checkNames()
	c.linkNodes()
	c.checkHosts()
	return c.application(ctx)
}

// application makes the model of what the steps before found.
func (c *compiler) application(ctx context.Context) (*spec.Application, error) {
	app := c.emptyApplication()
	c.makeRoom(app)
	policies := c.protocols()
	for _, n := range c.nodes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if n.Typ == nil || c.Spent() {
			continue // said so
		}
		switch n.kind {
		case container:
			app.Nodes = append(app.Nodes, c.container(n, policies))
		case software:
			if m := c.component(n, policies); !n.left {
				app.Components = append(app.Components, m)
			}
		case volume:
			app.Volumes = append(app.Volumes, c.volume(n, policies))
		case foreign:
		}
		if n.left {
			app.Others = append(app.Others, n.other())
		}
	}
	c.checkPorts(app.Nodes)
	c.checkComponentPorts()
	app.Groups = c.units()
	for _, in := range c.InputValues() {
		app.Inputs = append(app.Inputs, spec.Input{
			Name: in.Name, Type: in.Type.Name, Description: in.Description, Value: data.Any(in.Value), Secret: in.Secret,
		})
	}
	sortBy(app.Nodes, func(n *spec.Node) string { return n.Name })
	sortBy(app.Components, func(m *spec.Component) string { return m.Name })
	sortBy(app.Others, func(o *spec.Other) string { return o.Name })
	sortBy(app.Volumes, func(v *spec.Volume) string { return v.Name })
	return app, nil
}

// makeRoom returns the lists of the model their sizes: their elements are large.
func (c *compiler) makeRoom(app *spec.Application) {
	var count [volume + 1]int
	for _, n := range c.nodes {
		count[n.kind]++
	}
	app.Nodes = make([]spec.Node, 0, count[container])
	app.Components = make([]spec.Component, 0, count[software])
	app.Volumes = make([]spec.Volume, 0, count[volume])
}

// sortBy sorts by names. The elements are large, so each is moved only once.
func sortBy[T any](all []T, name func(*T) string) {
	from := make([]int, len(all)) // where the element of each place is now
	for i := range from {
		from[i] = i
	}
	slices.SortStableFunc(from, func(a, b int) int { return strings.Compare(name(&all[a]), name(&all[b])) })
	for start := range from {
		first, to := all[start], start
		for from[to] != start {
			next := from[to]
			all[to], from[to], to = all[next], to, next
		}
		all[to], from[to] = first, to
	}
}

// emptyApplication is what the document says of the application as a whole.
func (c *compiler) emptyApplication() *spec.Application {
	app := &spec.Application{
		Format: spec.FormatVersion,
		Name:   c.Doc.Name, Version: c.Doc.AppVersion, Description: strings.TrimSpace(c.Doc.Description),
		Nodes: []spec.Node{}, Components: []spec.Component{}, Volumes: []spec.Volume{},
	}
	if app.Name == "" {
		base := path.Base(c.Doc.File)
		app.Name = strings.TrimSuffix(base, path.Ext(base))
	}
	return app
}

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
				add(t.Pos, of != grammar.NodeType && of != grammar.GroupType && of != grammar.PolicyType || used[t.Name])
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
		add(g.Pos, g.Typ == nil || used[g.Typ.Name])
	}
	for _, p := range c.Policies {
		add(p.Pos, p.Typ == nil || used[p.Typ.Name])
	}
	return all
}

// usedTypes are the names of the types of nodes, groups and policies that TosKer's meaning has to
// do with: those of its nodes, of deployment units, of protocols, and of groups that
// protocols are for.
func (c *compiler) usedTypes() map[string]bool {
	used := map[string]bool{}
	add := func(chain []*grammar.Type) {
		for _, t := range chain {
			used[t.Name] = true
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
