package kubernetes

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toskose/toskose/packager"
)

// services returns the Services of a container: a headless one for each of its names, because components connect to ports that
// the model does not declare; one that publishes its ports; and one through which the manager reaches each replica before it
// is ready.
func (w *writer) services(s packager.Service) []any {
	name := w.names[s.Name]
	pods := w.selects(name).MatchLabels
	service := func(called string, spec serviceSpec) object {
		spec.Selector = pods
		return object{APIVersion: "v1", Kind: "Service", Metadata: metadata{Name: called, Labels: w.labels(name)}, Spec: spec}
	}
	if s.IsManager { // one replica, accessed by users of the manager
		return []any{service(name, serviceSpec{Type: ServiceClusterIP, Ports: w.ports(s)})}
	}
	var out []any
	for _, called := range slices.Concat([]string{s.Name}, s.Aliases) {
		out = append(out, service(w.names[called], serviceSpec{ClusterIP: "None", Ports: w.ports(s)}))
	}
	if s.IsToskosed {
		unit := strconv.Itoa(s.UnitPort)
		out = append(out, service(w.names[unitsName(s.Name)], serviceSpec{
			ClusterIP: "None", Unready: true, Ports: []servicePort{{Name: "tcp-" + unit, Port: s.UnitPort, Target: s.UnitPort, Protocol: "TCP"}},
		}))
	}
	if len(s.Ports) > 0 {
		published := serviceSpec{Type: w.opts.ServiceType}
		for _, p := range s.Ports {
			one := servicePort{Name: p.Protocol + "-" + strconv.Itoa(p.Host), Port: p.Host, Target: p.Container, Protocol: strings.ToUpper(p.Protocol)}
			if !slices.Contains(published.Ports, one) { // at another address
				published.Ports = append(published.Ports, one)
			}
		}
		out = append(out, service(w.names[publicName(s.Name)], published))
	}
	return out
}

// checkPorts returns an error for a port that is published at two addresses, for different ports of a container.
func (w *writer) checkPorts() error {
	var problems []error
	for _, s := range w.plan.Services {
		for i, p := range s.Ports {
			if slices.ContainsFunc(s.Ports[:i], func(o packager.Port) bool {
				return o.Host == p.Host && o.Protocol == p.Protocol && o.Container != p.Container
			}) {
				problems = append(problems, fmt.Errorf("container %q: port %d/%s is published at two addresses for two ports of the container: a Service on Kubernetes has no addresses", s.Name, p.Host, p.Protocol))
			}
		}
	}
	return errors.Join(problems...)
}

// publicName names the Service that publishes the ports of a container.
func publicName(service string) string { return service + " public" }

// unitsName names the Service through which the manager reaches the units of a container.
func unitsName(service string) string { return service + " units" }

// policy allows only the manager to reach a unit's port, and allows all traffic to the other ports, which depend on the
// components.
func (w *writer) policy(s packager.Service) object {
	name, manager := w.names[s.Name], w.names[w.plan.Manager().Name]
	rest := ingress{}
	others := func(protocol string, from, to int) {
		if from <= to {
			rest.Ports = append(rest.Ports, policyPort{Protocol: protocol, Port: from, End: to})
		}
	}
	others("TCP", 1, s.UnitPort-1)
	others("TCP", s.UnitPort+1, 65535)
	others("UDP", 1, 65535)
	return object{
		APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy", Metadata: metadata{Name: name, Labels: w.labels(name)},
		Spec: policySpec{
			Pods: w.selects(name), Types: []string{"Ingress"},
			Ingress: []ingress{
				{From: []peer{{w.selects(manager)}}, Ports: []policyPort{{Protocol: "TCP", Port: s.UnitPort}}},
				rest,
			},
		},
	}
}
