package attach

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toskose/toskose/manager/mirror"
	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/unit/wire"
)

// Limits on the programs that a unit reports, whose configuration a container can write.
const (
	maxPrograms = 1000 // of a node
	maxName     = 255  // bytes
)

// Programs are the programs of each attached node, as last reported. The zero value is empty.
type Programs struct {
	of      map[string][]spec.AttachedProgram // by node; sorted by name; no node before it had programs
	refused map[string][]string               // why programs are ignored, by node
}

// Of returns the programs of each node that had any, sorted by name. The caller must not change it.
func (p *Programs) Of() map[string][]spec.AttachedProgram { return p.of }

// Update learns the programs that units report in a snapshot. A node has the programs of all its replicas. While one of
// them is unreachable, it also keeps its previous programs. refused is why programs of a node are ignored, if that is new.
func (p *Programs) Update(app *spec.Application, now *mirror.Snapshot) (refused map[string][]string) {
	if p.of == nil {
		p.of, p.refused = map[string][]spec.AttachedProgram{}, map[string][]string{}
	}
	refused = map[string][]string{}
	for i := range app.Nodes {
		n := &app.Nodes[i]
		at := now.Node(n.Name)
		if n.Attached == nil || at == nil {
			continue
		}
		of, why := reported(app, at, p.of[n.Name])
		if len(of) > 0 || p.of[n.Name] != nil {
			p.of[n.Name] = of
		}
		if !slices.Equal(why, p.refused[n.Name]) {
			p.refused[n.Name], refused[n.Name] = why, why
		}
	}
	return refused
}

// reported returns the programs of a node, and why others are ignored.
func reported(app *spec.Application, n *mirror.Node, before []spec.AttachedProgram) (of []spec.AttachedProgram, refused []string) {
	all := map[string]spec.AttachedProgram{}
	certain, replicas := n.Known, 0
	for _, r := range n.Replicas {
		if !r.Gone.IsZero() {
			continue
		}
		replicas++
		certain = certain && r.Reachable()
		for _, p := range r.Programs {
			if why := refuse(app, n.Name, p); why != "" {
				refused = append(refused, why)
				continue
			}
			known := all[p.Component]
			all[p.Component] = spec.AttachedProgram{Name: p.Component, Autostart: p.Autostart || known.Autostart}
		}
	}
	if !certain || replicas == 0 {
		for _, p := range before {
			if _, known := all[p.Name]; !known {
				all[p.Name] = p
			}
		}
	}
	names := slices.Sorted(maps.Keys(all))
	if len(names) > maxPrograms {
		refused = append(refused, fmt.Sprintf("%d programs beyond the first %d", len(names)-maxPrograms, maxPrograms))
		names = names[:maxPrograms]
	}
	for _, name := range names {
		of = append(of, all[name])
	}
	slices.Sort(refused)
	return of, slices.Compact(refused)
}

// refuse returns why a program cannot be a component; "" if it can.
func refuse(app *spec.Application, node string, p wire.ProgramComponent) string {
	name := p.Component
	full := node + "/" + name
	switch {
	case name == "":
		return "a program without a name"
	case len(name) > maxName:
		return fmt.Sprintf("program %.60q: its name is longer than %d bytes", name, maxName)
	case !utf8.ValidString(name), strings.ContainsAny(name, "/ "), strings.Count(name, ":") > 1, strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Sprintf("program %.60q: a name has no space, slash or character that cannot be printed, and one colon at most", name)
	case slices.ContainsFunc(app.Components, func(c spec.Component) bool { return c.Name == full }),
		slices.ContainsFunc(app.Nodes, func(n spec.Node) bool { return n.Name == full }),
		slices.ContainsFunc(app.Volumes, func(v spec.Volume) bool { return v.Name == full }):
		return fmt.Sprintf("program %q: the application has another element named %q", name, full)
	}
	return ""
}
