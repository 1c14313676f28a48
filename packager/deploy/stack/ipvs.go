package stack

import (
	"context"
	"slices"

	"github.com/docker/docker/api/types/swarm"

	"github.com/toskose/toskose/packager/compose"
)

// Settle removes secrets that are no longer in use, and warns of virtual IPs that do not answer.
func (s *Stack) Settle(ctx context.Context) error {
	s.warnOfVirtualIPs(ctx)
	return s.removeOldSecrets(ctx)
}

// warnOfVirtualIPs says so where containers cannot reach each other although the manager reaches all of
// them, which asks for the addresses of each: a kernel without IPVS drops what is for a virtual IP. It
// is said by this engine's machine of itself, once containers run on it: before, the engine may not have
// loaded the module yet.
func (s *Stack) warnOfVirtualIPs(ctx context.Context) {
	services, tasks, err := s.look(ctx)
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

// hasVirtualIPs reports whether services have virtual IPs; the manager's is of no use to components.
func (s *Stack) hasVirtualIPs(services []swarm.Service) bool {
	names := s.names(services)
	return slices.ContainsFunc(services, func(one swarm.Service) bool {
		spec := one.Spec.EndpointSpec
		return names[one.ID] != s.Info.Manager.Service && (spec == nil || spec.Mode != swarm.ResolutionModeDNSRR)
	})
}

// What a Linux machine has at all times, and with IPVS.
const (
	procAlways = "/proc/net/dev"
	procIPVS   = "/proc/net/ip_vs"
)

// lacksIPVS reports whether the engine's machine is known to have a kernel without IPVS.
func (s *Stack) lacksIPVS(ctx context.Context) bool {
	if sees, err := s.Sees(ctx, procAlways); err != nil || !sees {
		return false
	}
	sees, err := s.Sees(ctx, procIPVS)
	return err == nil && !sees
}
