package output

import "github.com/toskose/toskose/packager"

// Info is what manifests say of themselves, for those who deploy them.
type Info struct {
	App     string   `yaml:"app" json:"app"`
	Version string   `yaml:"version" json:"version"`
	Manager Manager  `yaml:"manager" json:"manager"`
	Nodes   []string `yaml:"nodes" json:"nodes"` // the toskosed ones

	// External are the secrets that somebody else makes, as the target names them.
	External []string `yaml:"external_secrets,omitempty" json:"external_secrets,omitempty"`
}

// Manager says where the manager is found.
type Manager struct {
	Service string `yaml:"service" json:"service"`
	Port    int    `yaml:"port" json:"port"` // of the host; on Kubernetes, of the Service
	User    string `yaml:"user" json:"user"`
	TLS     bool   `yaml:"tls,omitempty" json:"tls,omitempty"`
	Publish string `yaml:"publish,omitempty" json:"publish,omitempty"` // in a swarm: ingress or host
}

// Scheme is how the manager's URL begins.
func (m Manager) Scheme() string {
	if m.TLS {
		return "https"
	}
	return "http"
}

// InfoOf describes a plan, with the name that the target has for the manager's
// service.
func InfoOf(plan *packager.Plan, managerService string) Info {
	info := Info{App: plan.App, Version: plan.Version, Nodes: []string{}, Manager: Manager{
		Service: managerService, Port: plan.Manager().UnitPort, User: plan.Config.Manager.User, TLS: plan.TLS(),
	}}
	for _, s := range plan.Services {
		if s.IsToskosed {
			info.Nodes = append(info.Nodes, s.Name)
		}
	}
	return info
}
