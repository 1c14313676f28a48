package output

import (
	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/config"
)

// Info describes the application in a folder's manifests, for the commands that deploy it.
type Info struct {
	App     string   `yaml:"app" json:"app"`
	Version string   `yaml:"version" json:"version"`
	Manager Manager  `yaml:"manager" json:"manager"`
	Nodes   []string `yaml:"nodes" json:"nodes"` // toskosed nodes whose units the manager operates

	// External lists the external secrets, by their names on the target.
	External []string `yaml:"external_secrets,omitempty" json:"external_secrets,omitempty"`

	// Bound lists the ports that are published at one address, which a Swarm cannot do, for messages.
	Bound []string `yaml:"bound_ports,omitempty" json:"bound_ports,omitempty"`

	// ExternalVolumes are the names of external volumes on the target, by their names in the application.
	ExternalVolumes map[string]string `yaml:"external_volumes,omitempty" json:"external_volumes,omitempty"`

	// Host lists the paths of the machine that the application uses.
	Host []packager.HostPath `yaml:"host,omitempty" json:"host,omitempty"`
}

// Manager describes the manager's address.
type Manager struct {
	Service string `yaml:"service" json:"service"`
	Port    int    `yaml:"port" json:"port"`                     // on the host; on Kubernetes, of the Service
	Bind    string `yaml:"bind,omitempty" json:"bind,omitempty"` // the address at which a single engine publishes the port
	User    string `yaml:"user" json:"user"`
	TLS     bool   `yaml:"tls,omitempty" json:"tls,omitempty"`
	Name    string `yaml:"name,omitempty" json:"name,omitempty"`       // host name of the user's own certificate; empty: the user supplied none
	Publish string `yaml:"publish,omitempty" json:"publish,omitempty"` // in a swarm: ingress or host
}

// Scheme returns the scheme of the manager's URL.
func (m Manager) Scheme() string {
	if m.TLS {
		return "https"
	}
	return "http"
}

// Host returns the name or address of the manager on its own machine.
func (m Manager) Host() string { return config.Host(m.Bind) }

// InfoOf describes a plan. managerService is the target's name of the manager's service.
func InfoOf(plan *packager.Plan, managerService string) Info {
	info := Info{App: plan.App, Version: plan.Version, Nodes: []string{}, Host: plan.Host, ExternalVolumes: plan.ExternalVolumes(), Manager: Manager{
		Service: managerService, Port: plan.Manager().UnitPort, User: plan.Config.Manager.User, TLS: plan.TLS(),
	}}
	if plan.Certificate != nil {
		info.Manager.Name = plan.ManagerName()
	}
	for _, s := range plan.Services {
		if s.IsToskosed && s.Job == nil { // the manager does not operate the units of jobs
			info.Nodes = append(info.Nodes, s.Name)
		}
	}
	return info
}
