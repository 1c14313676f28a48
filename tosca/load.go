// Package tosca makes a spec.Application from a TOSCA service template: it interprets the containers, components, volumes and
// protocols of TosKer's types. It reports all problems with file, line and column, and starts no goroutine.
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

// Options are settings of the user.
type Options struct {
	// Inputs are the values of topology inputs by name: strings, booleans, numbers,
	// lists ([]any) and maps (map[string]any). A string for an input of another type is
	// parsed as YAML. The position of an invalid value is "--input NAME". A Secret is a
	// string that no diagnostic shows.
	Inputs map[string]any
	// InputFile is a YAML or JSON file of inputs. Inputs take precedence.
	InputFile *InputFile
	// Draft accepts incomplete documents, and nodes of types other than TosKer's.
	// Warnings replace errors about required inputs without a value, a missing topology,
	// open choices and substitutions, and other nodes. Values that depend on a missing
	// input are not in the model; other nodes are in Others.
	Draft bool
	// Withhold removes the user's secrets, and values that depend on them, from the
	// model of a draft: each Secret, and inputs whose name is that of a secret.
	Withhold bool
	// Hosts are images by container name. If exactly one of these containers is not in
	// the topology, it is added for components that leave their host to a filter which
	// no container passes.
	Hosts map[string]string
	// Operations are full names of operations by component, for which the user has made
	// a decision. They get no warning if no transition names them.
	Operations map[string][]string
	// Places, if not nil, is filled with positions for diagnostics of later steps.
	Places Places
}

// Places are positions in the documents, by item. They are not part of the model, so
// that the layout of a document does not change it.
type Places map[string]diag.Position

// ShareOf returns the key of a container's bind mount, by its path in the container.
func ShareOf(container, at string) string { return container + " share_data " + at }

// OptionsOf returns the key of a volume's options.
func OptionsOf(volume string) string { return volume + " driver_opts" }

func (c *compiler) note(key string, at diag.Position) {
	if c.places != nil {
		c.places[key] = at
	}
}

// Secret is the value of an input that is never shown, whatever its name.
type Secret = resolve.Secret

// InputFile is a file of inputs as the user named it, with its content.
type InputFile struct {
	Name string
	Data []byte
}

// HasSecrets reports whether a name in the file is that of a secret. Then no line of the
// file may be shown. Diagnostics contain no secrets.
func (f *InputFile) HasSecrets() bool { return (*resolve.InputFile)(f).HasSecrets() }

// Load returns the application of the archive's entry definition. The list contains all
// diagnostics, sorted, with warnings. The application is nil if and only if the error is
// not. The error is the list if it contains an error; otherwise the archive could not be
// read, or ctx ended. Load does not close the archive.
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

// hostOf returns a template for the only container that is not in the topology, or nil.
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

// compiler makes the model from a resolved service template, and reports through its
// graph.
type compiler struct {
	*resolve.Graph
	archive *csar.Archive
	draft   bool
	decided map[string][]string // operations by component
	places  Places
	nodes   []*node // as written
	byNode  map[*resolve.Node]*node
	scripts map[string]bool // checked scripts
	images  map[string]bool // valid image names
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

// application makes the model from the results of the other steps.
func (c *compiler) application(ctx context.Context) (*spec.Application, error) {
	app := c.emptyApplication()
	c.makeRoom(app)
	policies := c.protocols()
	for _, n := range c.nodes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if n.Typ == nil || c.Spent() {
			continue // already reported
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

// makeRoom allocates the lists of the model, as their elements are large.
func (c *compiler) makeRoom(app *spec.Application) {
	var count [volume + 1]int
	for _, n := range c.nodes {
		count[n.kind]++
	}
	app.Nodes = make([]spec.Node, 0, count[container])
	app.Components = make([]spec.Component, 0, count[software])
	app.Volumes = make([]spec.Volume, 0, count[volume])
}

// sortBy sorts by name. It moves each element once, as elements are large.
func sortBy[T any](all []T, name func(*T) string) {
	from := make([]int, len(all)) // position of the element at each index
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

// emptyApplication returns an application with its name, version and description.
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

// part is a part of a file that ends at the next part.
type part struct {
	at      diag.Position
	matters bool // for a container, component or volume
}

// demote turns errors into warnings that cannot affect a container, component or volume,
// if the document has any: errors in outputs, workflows and substitution mappings, in
// nodes, groups and policies of types other than TosKer's, and in unused types.
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

// idle are the sections of a topology that have no effect on the application.
var idle = map[string]bool{"outputs": true, "workflows": true, "substitution_mappings": true}

// parts returns the parts of all files.
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

// usedTypes returns the names of node, group and policy types that have a meaning for
// TosKer: of its nodes, of deployment units, of protocols, and of groups that are
// targets of protocols.
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
