// Package levels describes a plant's hierarchy: the levels that a user names, above applications and components. It is pure: it
// knows names and kinds, and no cluster.
package levels

import (
	"slices"
	"strings"

	"github.com/toskose/toskose/packager"
)

// The API groups and the version of all kinds. LevelGroup is the default group of levels.
const (
	Group      = "toskose.io"
	LevelGroup = "levels.toskose.io"
	Version    = "v1alpha1"
)

// System is the name of the top of the hierarchy, above the highest level.
const System = "system"

// MaxLevels is the maximum number of levels.
const MaxLevels = 10

// Enabled is the label of namespaces that levels may write into, with EnabledValue as its value.
const (
	Enabled      = "toskose.io/levels"
	EnabledValue = "enabled"
)

// Paused is the annotation of an Application whose workloads the operator must not change. Its value is "true".
const Paused = "toskose.io/paused"

// ComponentLabel is the label of the objects that belong to a Component. Its value is the Component's name.
const ComponentLabel = "toskose.io/component"

// The values of a resource's status.ready, and of the situation of a part.
const (
	Running   = "Running"
	Deploying = "Deploying"
	Stored    = "Stored"
)

// Kind is a kind of custom resource.
type Kind struct {
	Group      string
	Kind       string // such as Assemblyline
	Singular   string // such as assemblyline
	Plural     string // such as assemblylines
	Namespaced bool
}

// The two lowest kinds, which are below all levels.
var (
	Application = Kind{Group: Group, Kind: "Application", Singular: "application", Plural: "applications", Namespaced: true}
	Component   = Kind{Group: Group, Kind: "Component", Singular: "component", Plural: "components", Namespaced: true}
)

// APIVersion returns the group and version of the kind.
func (k Kind) APIVersion() string { return k.Group + "/" + Version }

// Resource returns the name of the kind's CustomResourceDefinition.
func (k Kind) Resource() string { return k.Plural + "." + k.Group }

// IsLevel reports whether the kind is a level.
func (k Kind) IsLevel() bool { return k != Application && k != Component }

// String returns the level in the form that Parse reads.
func (k Kind) String() string {
	if k.Plural == k.Singular+"s" {
		return k.Singular
	}
	return k.Singular + ":" + k.Plural
}

// Structure is a hierarchy, highest level first.
type Structure []Kind

// String returns the structure in the form that Parse reads.
func (s Structure) String() string {
	all := make([]string, len(s))
	for i, k := range s {
		all[i] = k.String()
	}
	return strings.Join(all, ",")
}

// Kinds returns all kinds, highest first: the levels, Application and Component.
func (s Structure) Kinds() []Kind { return append(slices.Clone(s), Application, Component) }

// Controllers returns the names of all controllers, highest first.
func (s Structure) Controllers() []string {
	var all []string
	for _, k := range s.Kinds() {
		all = append(all, k.Singular)
	}
	return all
}

// Place is a kind with its neighbors in a structure.
type Place struct {
	Own          Kind
	Upper, Lower *Kind // nil: System above the highest kind; workloads below Component
}

// Find returns the place of the kind with the given singular name, and whether it exists.
func (s Structure) Find(singular string) (Place, bool) {
	all := s.Kinds()
	i := slices.IndexFunc(all, func(k Kind) bool { return k.Singular == singular })
	if i < 0 {
		return Place{}, false
	}
	p := Place{Own: all[i]}
	if i > 0 {
		p.Upper = &all[i-1]
	}
	if i+1 < len(all) {
		p.Lower = &all[i+1]
	}
	return p, true
}

// maxName is the maximum length of an object's name: the names of a workload's pods add up to eleven characters to it.
const maxName = 52

// ChildName returns the name of the child that a resource has for an entry of its list.
func ChildName(own, entry string) string {
	name := own + "-" + entry
	if len(name) <= maxName {
		return name
	}
	return packager.Shorten(name, name, maxName)
}

// ConfigMapName returns the default name of a permanent component's ConfigMap.
func ConfigMapName(component string) string { return "cm-" + component }
