package compose

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/config"
	"github.com/toskose/toskose/packager/output"
)

// HostVariable is the variable that passes the name of the engine's host to Compose.
const HostVariable = "TOSKOSE_HOST"

// LocalWarnings lists cases of unintended exposure of the manager on a single engine.
func LocalWarnings(plan *packager.Plan) []string {
	var all []string
	for _, s := range plan.Services {
		if n := s.Deploy.Replicas; n != nil && *n > 1 && len(s.Ports) > 0 {
			all = append(all, SharedPort(s.Name, *n, s.Ports[0].Host))
		}
	}
	return append(all, managerWarnings(plan)...)
}

// SharedPort says why the replicas of a service cannot run on a single engine.
func SharedPort(service string, replicas, port int) string {
	return fmt.Sprintf("container %q: its %d replicas cannot all publish port %d of a single engine; deploy it on a swarm or on Kubernetes, "+
		"or set nodes.%s.ports: [] or nodes.%s.deploy.replicas: 1 in toskose.yml", service, replicas, port, service, service)
}

// managerWarnings lists problems of the manager's address on a single engine.
func managerWarnings(plan *packager.Plan) []string {
	bind := plan.Config.Manager.Bind
	if !plan.TLS() && !config.IsLoopback(bind) {
		return []string{fmt.Sprintf("manager.bind: passwords reach port %d of %s in the clear; package with --tls", plan.Manager().UnitPort, bind)}
	}
	if names := plan.CertificateNames(); config.IsLoopback(bind) && len(names) > 0 && plan.ManagerName() != config.Host(bind) {
		return []string{fmt.Sprintf("manager.tls: the certificate is for %s, but a single engine publishes the manager at %s; manager.bind publishes it elsewhere",
			strings.Join(names, ", "), bind)}
	}
	return nil
}

// SwarmWarnings lists cases of unintended exposure of the manager on a Swarm.
func SwarmWarnings(plan *packager.Plan) []string {
	var all []string
	if !plan.TLS() {
		all = append(all, Clear(plan.Manager().UnitPort))
	}
	if bind := plan.Config.Manager.Bind; bind != config.DefaultManagerBind {
		all = append(all, fmt.Sprintf("manager.bind: a Swarm publishes at all addresses, and not at %s only", bind))
	}
	for _, s := range plan.Services {
		if _, ignored := usedBySwarm(s.Compose); len(ignored) > 0 {
			all = append(all, fmt.Sprintf("container %q: a Swarm ignores these keys of compose in toskose.yml: %s", s.Name, strings.Join(ignored, ", ")))
		}
		for _, b := range s.Binds {
			if b.Relabel != "" {
				all = append(all, fmt.Sprintf("container %q: the mode %s of %q is lost on a Swarm, which does not change SELinux labels", s.Name, b.Relabel, b.Host))
			}
		}
	}
	for _, bound := range boundPorts(plan) {
		all = append(all, bound+": a Swarm publishes ports at all addresses, and not at one, so its file leaves this port out, and `toskose deploy` refuses to deploy it to a Swarm")
	}
	return all
}

// Clear returns a warning that passwords reach a Swarm unencrypted.
func Clear(port int) string {
	return fmt.Sprintf("a Swarm publishes the manager at port %d of all its machines, where passwords arrive in the clear; package with --tls", port)
}

// Local returns docker-compose.local.yml. It equals the Swarm's file except where a single engine differs, for example labels
// of services, which become labels of containers. It is not an override file: an override can add ports but cannot remove a
// port that is published at all addresses.
func Local(plan *packager.Plan, opts Options, secrets output.Secrets) ([]byte, error) {
	opts.Encrypted = false
	f := forSwarm(plan, opts, secrets)
	f.Networks = map[string]net{network: {Driver: "bridge", Attachable: true}}
	names := ServiceNames(plan)
	for _, s := range plan.Services {
		local := f.Services[names[s.Name]]
		local.more = s.Compose
		local.Restart = restartOf(s.Deploy.RestartPolicy)
		maps.Copy(local.Labels, texts(s.Deploy.Labels))
		local.Ports = nil
		for _, p := range s.Ports {
			local.Ports = append(local.Ports, port{Target: p.Container, Published: p.Host, Protocol: p.Protocol, Mode: opts.PublishMode, bind: p.Bind})
		}
		for i, b := range s.Binds { // they follow the volumes
			local.Volumes[len(s.Mounts)+i].relabel = b.Relabel
		}
		local.Secrets = f.ownSecrets(local.Secrets)
		if s.IsManager {
			local.Environment[discovery] = text("alias")
			local.Security = []string{"no-new-privileges:true"} // Swarm has no such option
		}
		if s.IsToskosed {
			local.Environment[labelHost] = reference(HostVariable)
		}
		f.Services[names[s.Name]] = local
	}
	f.dropUnused()
	return encode(f)
}

// ownSecrets gives each user that reads a secret a separate file: on a single engine, a secret is a file of the machine and
// has one owner.
func (f file) ownSecrets(refs []secretRef) []secretRef {
	refs = slices.Clone(refs)
	for i, ref := range refs {
		if ref.UID == "" {
			continue
		}
		own := f.Secrets[ref.Source]
		own.User = ref.UID
		refs[i] = secretRef{Source: ref.Source + "." + ref.UID, Target: ref.Target}
		f.Secrets[refs[i].Source] = own
	}
	return refs
}

// dropUnused removes the secrets that no service uses.
func (f file) dropUnused() {
	used := map[string]bool{}
	for _, s := range f.Services {
		for _, ref := range s.Secrets {
			used[ref.Source] = true
		}
	}
	maps.DeleteFunc(f.Secrets, func(name string, _ secret) bool { return !used[name] })
}
