package release

import (
	"cmp"
	"maps"
	"slices"

	"github.com/toskose/toskose/packager"
)

// Diff is what differs between two releases.
type Diff struct {
	From       string          `json:"from"` // ids
	To         string          `json:"to"`
	Containers []ContainerDiff `json:"containers"`
	Components []ComponentDiff `json:"components"`
	Volumes    []VolumeDiff    `json:"volumes"`
}

// What happens to a container, a component or a volume.
const (
	Added    = "added"
	Removed  = "removed"
	Replaced = "replaced" // a container: with an empty one
	Updated  = "updated"  // a container: it runs on
	Changed  = "changed"
	Again    = "created again" // a component that has not changed: its container is replaced
)

// ContainerDiff is what differs of a container.
type ContainerDiff struct {
	Name    string   `json:"name"`
	Change  string   `json:"change"`
	Changes []Change `json:"changes,omitempty"`
}

// Change is of one attribute. Values of secrets are left out.
type Change struct {
	What string `json:"what"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// ComponentDiff is what differs of a component, or why it is to be created again.
type ComponentDiff struct {
	Name      string   `json:"name"`
	Container string   `json:"container"`
	Change    string   `json:"change"`
	What      []string `json:"what,omitempty"`
	Again     bool     `json:"again"` // its container is replaced or new: it is to be created
}

// VolumeDiff is what differs of a volume.
type VolumeDiff struct {
	Name    string   `json:"name"`
	Change  string   `json:"change"`
	Changes []Change `json:"changes,omitempty"`
}

// Same reports whether nothing differs that is deployed.
func (d Diff) Same() bool { return len(d.Containers)+len(d.Components)+len(d.Volumes) == 0 }

// Replaced are the containers that are replaced.
func (d Diff) Replaced() (names []string) {
	for _, c := range d.Containers {
		if c.Change == Replaced {
			names = append(names, c.Name)
		}
	}
	return names
}

// Again are the components that are to be created, because their container is a new one.
func (d Diff) Again() (names []string) {
	for _, c := range d.Components {
		if c.Again {
			names = append(names, c.Name)
		}
	}
	return names
}

// Compare returns what differs between two releases of an application.
func Compare(from, to Contents) Diff {
	d := Diff{From: from.Release, To: to.Release, Containers: []ContainerDiff{}, Components: []ComponentDiff{}, Volumes: []VolumeDiff{}}
	fresh := map[string]string{}
	for _, name := range keys(from.Containers, to.Containers) {
		c := ContainerDiff{Name: name}
		var replaces bool
		c.Change, c.Changes, replaces = changes(from.Containers, to.Containers, name)
		if c.Change == Changed && replaces {
			c.Change = Replaced
		} else if c.Change == Changed {
			c.Change = Updated
		}
		if c.Change != "" {
			fresh[name] = c.Change
			d.Containers = append(d.Containers, c)
		}
	}
	for _, name := range keys(from.Components, to.Components) {
		if c := compareComponents(from.Components, to.Components, name); c.Change != "" || fresh[to.nodeOf(c.Container)] == Replaced {
			host := fresh[to.nodeOf(c.Container)]
			c.Again = c.Change != Removed && (host == Replaced || host == Added)
			c.Change = cmp.Or(c.Change, Again)
			d.Components = append(d.Components, c)
		}
	}
	for _, name := range keys(from.Volumes, to.Volumes) {
		if change, all, _ := changes(from.Volumes, to.Volumes, name); change != "" {
			d.Volumes = append(d.Volumes, VolumeDiff{name, change, all})
		}
	}
	return d
}

// keys are those of either map.
func keys[V any](a, b map[string]V) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]V{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// changes returns how one of two maps' entries differ, and whether that replaces what they
// are of. Empty: they do not.
func changes[M ~map[string]Attribute](from, to map[string]M, name string) (change string, all []Change, replaces bool) {
	a, was := from[name]
	b, is := to[name]
	switch {
	case !was:
		return Added, nil, false
	case !is:
		return Removed, nil, false
	}
	for _, what := range keys(a, b) {
		if a[what].Value == b[what].Value {
			continue
		}
		c := Change{What: what, From: a[what].Value, To: b[what].Value}
		if a[what].Hidden || b[what].Hidden {
			c.From, c.To = "", another(a, b, what)
		}
		all = append(all, c)
		replaces = replaces || a[what].Replaces || b[what].Replaces
		change = Changed
	}
	slices.SortStableFunc(all, func(a, b Change) int { return cmp.Compare(rank(a.What), rank(b.What)) })
	return change, all, replaces
}

// rank has the image first.
func rank(what string) int {
	if what == "image" {
		return 0
	}
	return 1
}

// another stands for a value that is not shown.
func another[M ~map[string]Attribute](a, b M, what string) string {
	if _, ok := a[what]; !ok {
		return "added"
	}
	if _, ok := b[what]; !ok {
		return "removed"
	}
	return "another value"
}

func compareComponents(from, to map[string]packager.Component, name string) ComponentDiff {
	a, was := from[name]
	b, is := to[name]
	c := ComponentDiff{Name: name, Container: b.Node}
	switch {
	case !was:
		c.Change = Added
	case !is:
		c.Change, c.Container = Removed, a.Node
	default:
		if c.What = differing(a, b); len(c.What) > 0 {
			c.Change = Changed
		}
	}
	return c
}

// differing says what differs of a component.
func differing(a, b packager.Component) (what []string) {
	if a.Node != b.Node {
		what = append(what, "container, was "+a.Node)
	}
	if a.Files != b.Files {
		what = append(what, "files")
	}
	for _, name := range keys(a.Operations, b.Operations) {
		_, was := a.Operations[name]
		_, is := b.Operations[name]
		switch {
		case !was:
			what = append(what, "operation "+name+" added")
		case !is:
			what = append(what, "operation "+name+" removed")
		case a.Operations[name] != b.Operations[name]:
			what = append(what, "operation "+name)
		}
	}
	what = append(what, protocols(a, b)...)
	if a.Settings != b.Settings {
		what = append(what, "settings in toskose.yml")
	}
	return what
}

// protocols says what differs of two protocols: states and transitions that came and went.
func protocols(a, b packager.Component) (what []string) {
	if a.Initial != b.Initial {
		what = append(what, "initial state "+b.Initial)
	}
	for _, of := range []struct {
		kind string
		a, b []string
	}{{"state", a.States, b.States}, {"transition", a.Moves, b.Moves}} {
		for _, name := range of.b {
			if !slices.Contains(of.a, name) {
				what = append(what, of.kind+" "+name+" added")
			}
		}
		for _, name := range of.a {
			if !slices.Contains(of.b, name) {
				what = append(what, of.kind+" "+name+" removed")
			}
		}
	}
	return what
}
