package stack

import (
	"context"
	"slices"

	"github.com/docker/docker/api/types/swarm"

	"github.com/toskose/toskose/packager/compose"
)

// CleanUp removes unused secrets, and warns of virtual IPs that do not work.
func (s *Stack) CleanUp(ctx context.Context) error {
	s.warnOfVirtualIPs(ctx)
	return s.removeOldSecrets(ctx)
}

// warnOfVirtualIPs warns that containers cannot reach each other if the kernel lacks IPVS: it drops packets to virtual IPs.
// The manager works nevertheless, since it resolves the address of each container. Only this engine's machine is checked, and
// only once containers run on it: before, the engine may not have loaded the module.
func (s *Stack) warnOfVirtualIPs(ctx context.Context) {
	services, tasks, err := s.list(ctx)
	if err != nil || !s.hasVirtualIPs(services) {
		return
	}
	here := slices.ContainsFunc(tasks, func(t swarm.Task) bool { return t.NodeID == s.self && t.Status.State == swarm.TaskStateRunning })
	if !here || !s.lacksIPVS(ctx) {
		return
	}
	s.Say("warning: the kernel of the engine's machine has no IPVS, without which nothing answers at a swarm's virtual IPs: components do not reach those "+
		"of other containers by name. All machines of the swarm need it (`modprobe ip_vs`); or package with --endpoint-mode %s --publish-mode %s",
		compose.EndpointDNSRR, compose.PublishHost)
}

// hasVirtualIPs reports whether a service other than the manager's has a virtual IP. Components do not use the manager's.
func (s *Stack) hasVirtualIPs(services []swarm.Service) bool {
	names := s.names(services)
	return slices.ContainsFunc(services, func(one swarm.Service) bool {
		spec := one.Spec.EndpointSpec
		return names[one.ID] != s.Info.Manager.Service && (spec == nil || spec.Mode != swarm.ResolutionModeDNSRR)
	})
}

// Files of a Linux machine: one that always exists, and one that exists only with IPVS.
const (
	procAlways = "/proc/net/dev"
	procIPVS   = "/proc/net/ip_vs"
)

// lacksIPVS reports whether the kernel of the engine's machine is known to lack IPVS.
func (s *Stack) lacksIPVS(ctx context.Context) bool {
	if sees, err := s.Sees(ctx, procAlways); err != nil || !sees {
		return false
	}
	sees, err := s.Sees(ctx, procIPVS)
	return err == nil && !sees
}
