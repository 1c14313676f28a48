package kubernetes

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/toskose/toskose/packager"
)

// workload gives a service's Deployment, or its StatefulSet where it has a
// volume: of two pods of one name, which an update of a Deployment has for a
// while, never more than one may write to it.
func (w *writer) workload(s packager.Service) object {
	name := w.names[s.Name]
	spec := workloadSpec{
		Replicas: 1, Selector: w.selects(name),
		Template: podTemplate{metadata{Labels: w.labels(name)}, w.pod(s)},
	}
	if _, content := w.opts.image(s.Image); content != "" && (s.IsToskosed || s.IsManager) {
		spec.Template.Metadata.Annotations = map[string]string{contentAnnotation: content}
	}
	o := object{APIVersion: "apps/v1", Kind: "Deployment", Metadata: metadata{Name: name, Labels: w.labels(name), Annotations: annotations(s.Deploy.Labels)}}
	stateful := len(s.Mounts) > 0
	if stateful {
		o.Kind, spec.ServiceName = "StatefulSet", name
	}
	w.deploy(s, &spec, stateful)
	o.Spec = spec
	return o
}

func (w *writer) pod(s packager.Service) podSpec {
	c := container{
		Name: w.names[s.Name], Image: s.Image, PullPolicy: "IfNotPresent", Env: w.env(s),
	}
	for _, word := range s.Command {
		c.Args = append(c.Args, text(literal(word)))
	}
	for _, p := range w.ports(s) {
		c.Ports = append(c.Ports, containerPort{p.Name, p.Target, p.Protocol})
	}
	if len(s.Health) > 0 {
		check := execAction{s.Health}
		// As long as the Swarm's health check gives it: ten times three seconds.
		c.Startup = &probe{check, 3, 5, 10}
		c.Readiness = &probe{check, 3, 5, 3}
		c.Liveness = &probe{check, 10, 5, 3}
	}
	pod := podSpec{Grace: s.StopGrace}
	if w.opts.PullSecret != "" {
		pod.PullSecrets = []reference{{w.opts.PullSecret}}
	}
	pod.Security, c.Security = w.security(s)
	c.VolumeMounts, pod.Volumes = w.mounts(s)
	pod.Containers = []container{c}
	return pod
}

// literal keeps a "$" from beginning a variable of Kubernetes' own.
func literal(s string) string { return strings.ReplaceAll(s, "$", "$$") }

func (w *writer) env(s packager.Service) []variable {
	var out []variable
	set := func(name, value string) {
		v := text(value)
		out = append(out, variable{Name: name, Value: &v})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		set(name, literal(s.Env[name]))
	}
	if !s.IsManager {
		return out
	}
	// The manager asks for complete names, so it has to know its namespace.
	set("TOSKOSE_DISCOVERY", "alias")
	out = append(out, variable{Name: "TOSKOSE_NAMESPACE", From: &valueFrom{fieldRef{"metadata.namespace"}}})
	set("TOSKOSE_DISCOVERY_DOMAIN", "$(TOSKOSE_NAMESPACE).svc."+w.opts.ClusterDomain)
	if names := w.otherNames(); names != "" {
		set("TOSKOSE_DISCOVERY_NAMES", names)
	}
	return out
}

// otherNames says which aliases had to be named in another way.
func (w *writer) otherNames() string {
	var pairs []string
	for _, s := range w.plan.Services {
		if alias := w.plan.Config.Nodes[s.Name].Alias; alias != "" && w.names[alias] != alias {
			pairs = append(pairs, alias+"="+w.names[alias])
		}
	}
	return strings.Join(pairs, ",")
}

// ports gives what a service listens at: first what it publishes.
func (w *writer) ports(s packager.Service) []servicePort {
	var out []servicePort
	seen := map[string]bool{}
	add := func(port int, protocol string) {
		name := protocol + "-" + strconv.Itoa(port)
		if !seen[name] {
			seen[name] = true
			out = append(out, servicePort{Name: name, Port: port, Target: port, Protocol: strings.ToUpper(protocol)})
		}
	}
	for _, p := range slices.Concat(s.Ports, s.Internal) {
		add(p.Container, p.Protocol)
	}
	if s.UnitPort != 0 {
		add(s.UnitPort, "tcp")
	}
	return out
}

// mounts gives a service's volumes and where they are mounted.
func (w *writer) mounts(s packager.Service) (mounts []volumeMount, volumes []volume) {
	add := func(at string, readOnly bool, v volume) {
		if !slices.ContainsFunc(volumes, func(o volume) bool { return o.Name == v.Name }) {
			volumes = append(volumes, v)
		}
		mounts = append(mounts, volumeMount{v.Name, text(at), readOnly})
	}
	for _, m := range s.Mounts {
		claim := w.volumes[m.Volume]
		add(m.Container, false, volume{Name: "volume-" + claim, Claim: &claimSource{claim}})
	}
	for i, b := range s.Binds {
		add(b.Container, false, volume{Name: fmt.Sprintf("host-%d", i), HostPath: &hostPath{text(b.Host)}})
	}
	if len(s.Secrets) > 0 {
		all := &projected{}
		for _, name := range s.Secrets {
			all.Sources = append(all.Sources, projection{secretProjection{w.secrets[name]}})
		}
		add(packager.SecretsPath, true, volume{Name: "secrets", Projected: all})
	}
	return mounts, volumes
}
