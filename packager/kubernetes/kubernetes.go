// Package kubernetes writes a plan as manifests for Kubernetes: plain files with one or a few objects each, and a
// kustomization.yaml that generates Secrets from the credentials beside it. The same plan produces the same bytes. It starts
// no goroutine.
package kubernetes

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/output"
)

// The values of Options.ServiceType.
const (
	ServiceClusterIP    = "ClusterIP"
	ServiceNodePort     = "NodePort"
	ServiceLoadBalancer = "LoadBalancer"
)

// Options are the settings that depend on the cluster.
type Options struct {
	Namespace     string // empty: a new namespace for the application
	ServiceType   string // type of the Services for published ports
	ClusterDomain string // suffix of the Services' DNS names

	// PullSecret is an existing Secret with which images are pulled from private registries. Empty: none.
	PullSecret string

	// OpenShift leaves users and groups to the cluster, which assigns each namespace a range of its own.
	OpenShift bool

	// Under is the resource of a level, as KIND/NAME, to which the application belongs; "system": the top of the hierarchy.
	// Toskose's operator then makes the workloads. Empty: the manifests have the workloads themselves.
	Under string
}

// DefaultClusterDomain is the default of nearly every cluster.
const DefaultClusterDomain = "cluster.local"

// Validate returns an error for options that no cluster accepts.
func (o Options) Validate() error {
	if types := []string{ServiceClusterIP, ServiceNodePort, ServiceLoadBalancer}; !slices.Contains(types, o.ServiceType) {
		return fmt.Errorf("service type %q is not one of %s", o.ServiceType, strings.Join(types, ", "))
	}
	if o.PullSecret != "" && (len(o.PullSecret) > maxDomain || !secretForm.MatchString(o.PullSecret)) {
		return fmt.Errorf("pull secret %q is not a name for a Secret: small letters, digits, '-' and '.'", o.PullSecret)
	}
	if o.Namespace != "" && !namespaceForm.MatchString(o.Namespace) {
		return fmt.Errorf("namespace %q is not a name for a namespace: small letters, digits and '-', at most 63", o.Namespace)
	}
	if err := validateUnder(o.Under); err != nil {
		return fmt.Errorf("--under %w", err)
	}
	return nil
}

// The files of an output folder. The kustomization is in the folder that contains the secrets' folder, because it may not read
// files outside its own folder.
const (
	Kustomization = "kustomization.yaml"
	Folder        = "kubernetes"
)

// The labels of all objects, as Kubernetes recommends.
const (
	labelName      = "app.kubernetes.io/name" // the node
	labelPartOf    = "app.kubernetes.io/part-of"
	labelManagedBy = "app.kubernetes.io/managed-by"
)

// Target returns a target that writes the manifests.
func Target(opts Options) output.Target {
	return func(plan *packager.Plan, secrets output.Secrets) ([]output.File, error) {
		if err := opts.Validate(); err != nil {
			return nil, err
		}
		w := newWriter(plan, opts)
		if err := errors.Join(w.checkExternal(), w.checkPorts()); err != nil {
			return nil, err
		}
		return w.files(secrets)
	}
}

// Warnings lists the features of a plan that Kubernetes lacks or implements differently.
func Warnings(plan *packager.Plan, opts Options) []string {
	w := newWriter(plan, opts)
	var out []string
	warn := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, s := range plan.Services {
		for _, name := range slices.Concat([]string{s.Name}, s.Aliases) {
			if made := w.names[name]; made != name {
				warn("container %q: %q cannot be a name on Kubernetes; clients have to dial %q", s.Name, name, made)
			}
		}
		out = append(out, deployWarnings(s)...)
		if !s.Compose.IsZero() && s.Patch.IsZero() {
			warn("container %q: compose in toskose.yml is lost on Kubernetes, where kubernetes.patch adds to the workload", s.Name)
		}
		for _, p := range s.Ports {
			if p.Bind != "" && !s.IsManager {
				warn("container %q: the address of port %d (%s) is lost on Kubernetes: a Service publishes it", s.Name, p.Host, p.Bind)
			}
		}
		for _, b := range s.Binds {
			warn("container %q: %q is a path of the node that runs its pod; Kubernetes' baseline for pods refuses that", s.Name, b.Host)
			if b.Relabel != "" {
				warn("container %q: the mode %s of %q is lost on Kubernetes, which does not change SELinux labels of the node", s.Name, b.Relabel, b.Host)
			}
		}
	}
	for _, v := range plan.Volumes {
		others := maps.Clone(v.Options)
		delete(others, "size")
		if len(others) > 0 || (v.Driver != "" && v.Driver != "local") {
			warn("volume %q: Kubernetes gets only the size; driver and other options are up to the storage class", v.Name)
		}
	}
	return out
}

// writer generates the manifests of one plan.
type writer struct {
	plan     *packager.Plan
	opts     Options
	app      string            // label value of the application's name
	names    map[string]string // Service names of nodes, aliases, components that other components connect to, and published ports
	volumes  map[string]string // claims of volumes
	claimed  map[string]string // names in a pod of the volumes of claims: labels, which the name of a claim may not be
	secrets  map[string]string
	mounters map[string]int // number of services that mount a volume
}

func newWriter(plan *packager.Plan, opts Options) *writer {
	var names, volumes, secrets []string
	for _, s := range plan.Services {
		names = append(append(names, s.Name), s.Aliases...)
		if len(s.Ports) > 0 && !s.IsManager {
			names = append(names, publicName(s.Name))
		}
		if s.IsToskosed {
			names = append(names, unitsName(s.Name))
		}
	}
	for _, v := range plan.Volumes {
		if v.Existing == "" {
			volumes = append(volumes, v.Name)
		}
	}
	for _, s := range plan.Secrets {
		secrets = append(secrets, s.Name)
	}
	w := &writer{
		plan: plan, opts: opts, app: label(plan.App),
		names: labels(names), volumes: labels(volumes), secrets: labels(secrets), mounters: map[string]int{},
	}
	maps.Copy(w.volumes, plan.ExternalVolumes())
	w.claimed = labels(slices.Collect(maps.Values(w.volumes)))
	for _, s := range plan.Services {
		for _, m := range s.Mounts {
			w.mounters[m.Volume]++
		}
	}
	return w
}

// namespace returns the namespace in which the application runs.
func (w *writer) namespace() string {
	if w.opts.Namespace != "" {
		return w.opts.Namespace
	}
	return w.app
}

// Namespace returns the namespace in which an application runs.
func Namespace(plan *packager.Plan, opts Options) string { return newWriter(plan, opts).namespace() }

// ManagerService returns the name of the manager's Service.
func ManagerService(plan *packager.Plan) string {
	return newWriter(plan, Options{}).names[plan.Manager().Name]
}

// SecretNames maps the secrets of a plan to the names of the external Secrets. Each external Secret has one key, the secret's
// name in the plan.
func SecretNames(plan *packager.Plan) map[string]string { return newWriter(plan, Options{}).secrets }

func (w *writer) labels(name string) map[string]string {
	all := map[string]string{labelPartOf: w.app, labelManagedBy: "toskose"}
	if name != "" {
		all[labelName] = name
	}
	return all
}

// selects returns the label selector of a workload's pods.
func (w *writer) selects(name string) selector {
	return selector{map[string]string{labelPartOf: w.app, labelName: name}}
}

// files returns all manifests; the kustomization is the last.
func (w *writer) files(secrets output.Secrets) ([]output.File, error) {
	var files []output.File
	add := func(name string, documents ...any) error {
		f, err := encode(path.Join(Folder, name+".yaml"), documents...)
		files = append(files, f)
		return err
	}
	if w.opts.Namespace == "" {
		if err := add(namespaceFile, w.ownNamespace()); err != nil {
			return nil, err
		}
	}
	if claims := w.claims(); len(claims) > 0 {
		if err := add("volumes", claims...); err != nil {
			return nil, err
		}
	}
	var problems []error
	var components []component
	for _, s := range w.plan.Services {
		patched, patchErr, err := w.patchedWorkload(s, secrets)
		if err != nil {
			return nil, err
		}
		if patchErr != nil {
			problems = append(problems, patchErr)
			continue
		}
		var documents []any
		if w.opts.Under == "" {
			documents = append(documents, patched)
		} else {
			c, err := w.component(s, patched)
			if err != nil {
				return nil, err
			}
			components = append(components, c)
		}
		documents = append(documents, w.services(s)...)
		if s.UnitPort != 0 && !s.IsManager {
			documents = append(documents, w.policy(s))
		}
		if len(documents) == 0 {
			continue
		}
		if err := add("node-"+w.names[s.Name], documents...); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	if w.opts.Under != "" {
		if err := add(applicationFile, w.application(components)); err != nil {
			return nil, err
		}
	}
	return w.withKustomization(files, secrets)
}

// patchedWorkload returns the workload of a service with the user's patch. patchErr is a mistake in the patch.
func (w *writer) patchedWorkload(s packager.Service, secrets output.Secrets) (patched any, patchErr, err error) {
	workload := w.workload(s)
	if s.Job != nil {
		if workload, err = w.job(s, secrets); err != nil {
			return nil, nil, err
		}
	}
	patched, patchErr = w.patched(s, workload)
	return patched, patchErr, nil
}

// withKustomization adds the kustomization of the manifests.
func (w *writer) withKustomization(files []output.File, secrets output.Secrets) ([]output.File, error) {
	k, err := w.kustomization(files, secrets)
	if err != nil {
		return nil, err
	}
	if w.opts.Under != "" {
		f, err := encode(path.Join(Folder, configurationFile+".yaml"), secretReferences())
		if err != nil {
			return nil, err
		}
		k.Configurations = []string{f.Name}
		files = append(files, f)
	}
	f, err := encode(Kustomization, k)
	return append(files, f), err
}
