package kubernetes

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/operator/levels"
	"github.com/toskose/toskose/packager"
)

// underAnnotation stores Options.Under in a kustomization.
const underAnnotation = "io.toskose.under"

// The files of an application below a level: the Application with its workloads, and what kustomize has to know about it.
const (
	applicationFile   = "application"
	configurationFile = "configuration"
)

// upperForm is the form of the name in Options.Under.
var upperForm = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)

// validateUnder returns an error unless under is empty, the top of the hierarchy, or KIND/NAME.
func validateUnder(under string) error {
	if under == "" || under == levels.System {
		return nil
	}
	kind, name, ok := strings.Cut(under, "/")
	if !ok || !levels.IsName(kind) || len(name) > maxDomain || !upperForm.MatchString(name) {
		return fmt.Errorf("%q is neither KIND/NAME, such as asset/line-1-robot-1, nor %s", under, levels.System)
	}
	return nil
}

// upperOf returns the kind, as the API has it, and the name of the resource that Options.Under names.
func upperOf(under string) (kind, name string) {
	kind, name, ok := strings.Cut(under, "/")
	if !ok {
		return "", ""
	}
	return levels.KindName(kind), name
}

type applicationSpec struct {
	Name       string      `yaml:"name"`
	Deploy     bool        `yaml:"deploy"`
	Replicas   int         `yaml:"replicas"`
	Upper      *upper      `yaml:"upper,omitempty"`
	Components []component `yaml:"components"`
}

type upper struct {
	Kind string `yaml:"kind"`
	Name string `yaml:"name"`
}

type component struct {
	Name     string    `yaml:"name"`
	Image    string    `yaml:"image"`
	Flow     flow      `yaml:"flowConfig"`
	Workload yaml.Node `yaml:"workload"`
}

type flow struct {
	Previous []string `yaml:"previous,flow"`
	Next     []string `yaml:"next,flow"`
}

// component returns the component of a service, whose workload is workload.
func (w *writer) component(s packager.Service, workload any) (component, error) {
	c := component{Name: w.names[s.Name], Image: s.Image, Flow: flow{[]string{}, []string{}}}
	if err := c.Workload.Encode(workload); err != nil {
		return c, fmt.Errorf("cannot encode the workload of %q: %w", s.Name, err)
	}
	var kept []*yaml.Node
	for i := 0; i+1 < len(c.Workload.Content); i += 2 {
		if key := c.Workload.Content[i]; key.Value != "apiVersion" { // each kind has one
			kept = append(kept, key, c.Workload.Content[i+1])
		}
	}
	c.Workload.Content = kept
	return c, nil
}

// application returns the Application that has the workloads.
func (w *writer) application(components []component) object {
	spec := applicationSpec{Name: w.app, Deploy: true, Replicas: 1, Components: components}
	if kind, name := upperOf(w.opts.Under); kind != "" {
		spec.Upper = &upper{kind, name}
	}
	return object{
		APIVersion: levels.Application.APIVersion(), Kind: levels.Application.Kind,
		Metadata: metadata{Name: w.app, Labels: w.labels("")}, Spec: spec,
	}
}

type configuration struct {
	References []nameReference `yaml:"nameReference"`
}

type nameReference struct {
	Kind   string      `yaml:"kind"`
	Fields []fieldSpec `yaml:"fieldSpecs"`
}

type fieldSpec struct {
	Group string `yaml:"group"`
	Kind  string `yaml:"kind"`
	Path  string `yaml:"path"`
}

// secretReferences lists the fields of an Application with names of Secrets. kustomize adds digests to these names.
func secretReferences() configuration {
	const volumes = "spec/components/workload/spec/template/spec/volumes/"
	field := func(path string) fieldSpec { return fieldSpec{levels.Group, levels.Application.Kind, volumes + path} }
	return configuration{[]nameReference{{"Secret", []fieldSpec{field("projected/sources/secret/name"), field("secret/secretName")}}}}
}

// ApplicationManifest is the path of the Application in the output folder of an application below a level.
var ApplicationManifest = path.Join(Folder, applicationFile+".yaml")
