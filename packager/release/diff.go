package release

import (
	"cmp"
	"maps"
	"slices"

	"github.com/toskose/toskose/packager"
)

// Diff lists the differences between two releases.
type Diff struct {
	From       string          `json:"from"` // release IDs
	To         string          `json:"to"`
	Target     Target          `json:"target"` // the target that the releases are deployed to
	Containers []ContainerDiff `json:"containers"`
	Components []ComponentDiff `json:"components"`
	Volumes    []VolumeDiff    `json:"volumes"`
	Host       []HostUse       `json:"host,omitempty"` // paths of the machine that the newer release uses
}

// HostUse is a path of the machine that the newer release uses.
type HostUse struct {
	packager.HostPath
	Added bool `json:"added,omitempty"` // the older release does not use it
}

// The changes of a container, a component or a volume.
const (
	Added    = "added"
	Removed  = "removed"
	Replaced = "replaced"          // a container: by a new, empty one
	Moved    = "replaced if moved" // a container: replaced if its machine no longer satisfies the placement
	Updated  = "updated"           // a container: keeps running
	Changed  = "changed"
	Again    = "created again" // an unchanged component whose container is replaced
)

// ContainerDiff is the difference of a container.
type ContainerDiff struct {
	Name    string   `json:"name"`
	Change  string   `json:"change"`
	Changes []Change `json:"changes,omitempty"`
}

// Change is the difference of one attribute. It does not contain values of secrets.
type Change struct {
	What string `json:"what"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// ComponentDiff is the difference of a component, or says that an unchanged component must be created again.
type ComponentDiff struct {
	Name      string   `json:"name"`
	Container string   `json:"container"`
	Change    string   `json:"change"`
	What      []string `json:"what,omitempty"`
	Again     bool     `json:"again"` // its container is replaced or new, so the component must be created
}

// VolumeDiff is the difference of a volume.
type VolumeDiff struct {
	Name    string   `json:"name"`
	Change  string   `json:"change"`
	Changes []Change `json:"changes,omitempty"`
}

// Same reports whether the releases do not differ.
func (d Diff) Same() bool { return len(d.Containers)+len(d.Components)+len(d.Volumes) == 0 }

// Replaced returns the containers that are replaced.
func (d Diff) Replaced() []string { return d.changed(Replaced) }

// Moved returns the containers that are replaced if their machines no longer satisfy the placement.
func (d Diff) Moved() []string { return d.changed(Moved) }

func (d Diff) changed(how string) (names []string) {
	for _, c := range d.Containers {
		if c.Change == how {
			names = append(names, c.Name)
		}
	}
	return names
}

// Recreated returns the components that must be created because their container is new.
func (d Diff) Recreated() (names []string) {
	for _, c := range d.Components {
		if c.Again {
			names = append(names, c.Name)
		}
	}
	return names
}

// Compare returns the differences between two releases of an application.
func Compare(from, to Contents) Diff {
	d := Diff{From: from.Release, To: to.Release, Target: to.Target, Containers: []ContainerDiff{}, Components: []ComponentDiff{}, Volumes: []VolumeDiff{}}
	d.compareContainers(from, to)
	fresh := map[string]string{}
	for _, c := range d.Containers {
		fresh[c.Name] = c.Change
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
	for _, used := range to.Host {
		d.Host = append(d.Host, HostUse{used, !slices.Contains(from.Host, used)})
	}
	return d
}

// compareContainers adds the containers that differ, and the containers that are replaced together with them.
func (d *Diff) compareContainers(from, to Contents) {
	found := map[string]ContainerDiff{}
	for _, name := range keys(from.Containers, to.Containers) {
		change, all, effect := changes(from.Containers, to.Containers, name)
		if change == Changed {
			change = []string{Updated, Moved, Replaced}[effect]
		}
		found[name] = ContainerDiff{name, change, all}
	}
	for again := true; again; {
		again = false
		for _, name := range slices.Sorted(maps.Keys(to.Ending)) {
			others := to.Ending[name]
			i := slices.IndexFunc(others, func(other string) bool { return found[other].Change == Replaced || found[other].Change == Added })
			if c := found[name]; i >= 0 && (c.Change == "" || c.Change == Updated) {
				found[name] = ContainerDiff{name, Replaced, append(c.Changes, Change{What: "started after", To: others[i]})}
				again = true
			}
		}
	}
	for _, name := range keys(from.Containers, to.Containers) {
		if found[name].Change != "" {
			d.Containers = append(d.Containers, found[name])
		}
	}
}

// keys returns the sorted keys of both maps.
func keys[V any](a, b map[string]V) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]V{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// changes compares the entries of two maps and returns the effect of the differences. change is empty if they are equal.
func changes(from, to map[string]Container, name string) (change string, all []Change, effect Effect) {
	a, was := from[name]
	b, is := to[name]
	switch {
	case !was:
		return Added, nil, replaces
	case !is:
		return Removed, nil, replaces
	}
	for _, what := range keys(a, b) {
		old, had := a[what]
		now, has := b[what]
		if had == has && old.Value == now.Value {
			continue
		}
		effect = max(effect, old.Effect, now.Effect)
		if had != has {
			effect = max(effect, old.Coming, now.Coming)
		}
		all = append(all, Change{What: what, From: old.shown(had), To: now.shown(has)})
		if old.Hidden || now.Hidden {
			all[len(all)-1] = Change{What: what, To: hiddenText(had, has)}
		}
		change = Changed
	}
	slices.SortStableFunc(all, func(a, b Change) int { return cmp.Compare(rank(a.What), rank(b.What)) })
	return change, all, effect
}

// shown returns the displayed form of a value: an existing empty value is shown as "".
func (a Attribute) shown(there bool) string {
	if there && a.Value == "" {
		return `""`
	}
	return a.Value
}

// rank sorts the image first.
func rank(what string) int {
	if what == "image" {
		return 0
	}
	return 1
}

// hiddenText returns the text shown instead of a hidden value.
func hiddenText(had, has bool) string {
	switch {
	case !had:
		return "added"
	case !has:
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

// differing lists the differences of a component.
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
	if a.Requires != b.Requires && a.Requires != "" && b.Requires != "" { // an earlier version did not record it
		what = append(what, "what it requires")
	}
	if a.Task != b.Task && a.Task != "" && b.Task != "" {
		what = append(what, "how often it is run")
	}
	what = append(what, protocols(a, b)...)
	if a.Settings != b.Settings {
		what = append(what, "settings in toskose.yml")
	}
	return what
}

// protocols lists the states and transitions that were added or removed between two protocols.
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
