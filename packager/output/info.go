package output

import (
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/config"
)

// Info is what manifests say of themselves, for those who deploy them.
type Info struct {
	App     string   `yaml:"app" json:"app"`
	Version string   `yaml:"version" json:"version"`
	Manager Manager  `yaml:"manager" json:"manager"`
	Nodes   []string `yaml:"nodes" json:"nodes"` // the toskosed ones whose units the manager operates

	// External are the secrets that somebody else makes, as the target names them.
	External []string `yaml:"external_secrets,omitempty" json:"external_secrets,omitempty"`

	// Host are the paths of the machine that the application uses.
	Host []packager.HostPath `yaml:"host,omitempty" json:"host,omitempty"`
}

// Manager says where the manager is found.
type Manager struct {
	Service string `yaml:"service" json:"service"`
	Port    int    `yaml:"port" json:"port"`                     // of the host; on Kubernetes, of the Service
	Bind    string `yaml:"bind,omitempty" json:"bind,omitempty"` // the address of a single engine that the port is published at
	User    string `yaml:"user" json:"user"`
	TLS     bool   `yaml:"tls,omitempty" json:"tls,omitempty"`
	Name    string `yaml:"name,omitempty" json:"name,omitempty"`       // that a certificate of the user's is for; empty: it has none
	Publish string `yaml:"publish,omitempty" json:"publish,omitempty"` // in a swarm: ingress or host
}

// Scheme is how the manager's URL begins.
func (m Manager) Scheme() string {
	if m.TLS {
		return "https"
	}
	return "http"
}

// Host is by what name or address the manager is asked on its own machine.
func (m Manager) Host() string { return config.Host(m.Bind) }

// InfoOf describes a plan, with the name that the target has for the manager's
// service.
func InfoOf(plan *packager.Plan, managerService string) Info {
	info := Info{App: plan.App, Version: plan.Version, Nodes: []string{}, Host: plan.Host, Manager: Manager{
		Service: managerService, Port: plan.Manager().UnitPort, User: plan.Config.Manager.User, TLS: plan.TLS(),
	}}
	if plan.Certificate != nil {
		info.Manager.Name = plan.ManagerName()
	}
	for _, s := range plan.Services {
		if s.IsToskosed && s.Job == nil { // a job's has ended, or will
			info.Nodes = append(info.Nodes, s.Name)
		}
	}
	return info
}
