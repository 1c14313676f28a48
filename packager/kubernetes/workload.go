package kubernetes

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/output"
)

// workload returns a service's Deployment, or its StatefulSet if it has a volume. During an update, a Deployment may run the
// old and the new pod at the same time; a StatefulSet never does, so only one pod writes to the volume.
func (w *writer) workload(s packager.Service) object {
	name := w.names[s.Name]
	spec := workloadSpec{
		Replicas: 1, Selector: w.selects(name),
		Template: podTemplate{metadata{Labels: w.labels(name)}, w.pod(s)},
	}
	o := object{APIVersion: "apps/v1", Kind: "Deployment", Metadata: metadata{Name: name, Labels: w.labels(name), Annotations: named(w.annotations(s), s.Name, name)}}
	stateful := len(s.Mounts) > 0
	if stateful {
		o.Kind, spec.ServiceName = "StatefulSet", name
		spec.PodManagement = "Parallel" // otherwise a pod that never becomes ready blocks the update that fixes it
	}
	w.deploy(s, &spec, stateful)
	o.Spec = spec
	return o
}

// annotations returns the annotations of a service's workload.
func (w *writer) annotations(s packager.Service) map[string]string {
	all := annotations(s.Deploy.Labels)
	external := w.plan.ExternalLabel(s)
	if external == "" {
		return all
	}
	if all == nil {
		all = map[string]string{}
	}
	all[packager.LabelExternal] = external
	return all
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
		check, ready := execAction{s.Health}, execAction{s.Health}
		if len(s.Ready) > 0 {
			ready = execAction{s.Ready}
		}
		interval, timeout := int(packager.HealthInterval.Seconds()), int(packager.HealthTimeout.Seconds())
		c.Startup = &probe{check, interval, timeout, packager.HealthRetries}
		c.Readiness = &probe{ready, interval, timeout, 3}
		c.Liveness = &probe{check, 10, timeout, 3}
	}
	pod := podSpec{Grace: s.StopGrace}
	if s.IsManager {
		pod.Tolerations = managerTolerations()
	}
	if w.opts.PullSecret != "" {
		pod.PullSecrets = []reference{{w.opts.PullSecret}}
	}
	pod.Security, c.Security = w.security(s)
	c.VolumeMounts, pod.Volumes = w.mounts(s)
	pod.Containers = []container{c}
	return pod
}

// managerTolerance is how many seconds the manager's machine may be unreachable before the manager is started elsewhere.
// Kubernetes' default is five minutes. Two managers can safely run at the same time, so a short delay is enough.
const managerTolerance = 30

func managerTolerations() (all []toleration) {
	for _, key := range []string{"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"} {
		all = append(all, toleration{key, "Exists", "NoExecute", managerTolerance})
	}
	return all
}

// literal escapes "$", which Kubernetes would expand.
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
	field := func(name, path string) { out = append(out, variable{Name: name, From: &valueFrom{fieldRef{path}}}) }
	if s.IsToskosed {
		field("TOSKOSE_LABEL_HOST", "spec.nodeName")
		field("TOSKOSE_LABEL_SLOT", "metadata.name")
	}
	if !s.IsManager {
		return out
	}
	// The manager resolves fully qualified names, for which it needs its namespace.
	set("TOSKOSE_DISCOVERY", "alias")
	field("TOSKOSE_NAMESPACE", "metadata.namespace")
	set("TOSKOSE_DISCOVERY_DOMAIN", "$(TOSKOSE_NAMESPACE).svc."+w.opts.ClusterDomain)
	if names := w.plan.OtherNames(func(_, alias string) string { return w.names[alias] }); names != "" {
		set("TOSKOSE_DISCOVERY_NAMES", names)
	}
	units := func(service, alias string) string { return cmp.Or(w.names[unitsName(service)], alias) }
	if names := w.plan.OtherNames(units); names != "" {
		set("TOSKOSE_DISCOVERY_UNITS", names)
	}
	return out
}

// ports returns the ports of a service, published ports first.
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

// mounts returns a service's volumes and their mount points.
func (w *writer) mounts(s packager.Service) (mounts []volumeMount, volumes []volume) {
	add := func(at string, readOnly bool, v volume) {
		if !slices.ContainsFunc(volumes, func(o volume) bool { return o.Name == v.Name }) {
			volumes = append(volumes, v)
		}
		mounts = append(mounts, volumeMount{v.Name, text(at), readOnly})
	}
	for _, m := range s.Mounts {
		claim := w.volumes[m.Volume]
		add(m.Container, false, volume{Name: "volume-" + w.claimed[claim], Claim: &claimSource{claim}})
	}
	for i, b := range s.Binds {
		add(b.Container, b.ReadOnly, volume{Name: fmt.Sprintf("host-%d", i), HostPath: &hostPath{text(b.Host)}})
	}
	if len(s.Secrets) > 0 {
		all := &projectedVolume{}
		if s.SecretUser != "" {
			all.Mode = output.SecretMode // with an fsGroup, Kubernetes sets 0440, owned by root and the group
		}
		for _, name := range s.Secrets {
			all.Sources = append(all.Sources, projection{secretProjection{w.secrets[name]}})
		}
		add(packager.SecretsPath, true, volume{Name: "secrets", Projected: all})
	}
	if s.IsToskosed { // no claim is needed: all units have copies
		add(packager.DocumentsPath, false, volume{Name: "documents", EmptyDir: &emptyDir{documentsLimit}})
	}
	return mounts, volumes
}
