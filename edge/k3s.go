package edge

import (
	"bytes"
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/internal/located"
)

// Files of k3s on a machine.
const (
	K3sConfig   = "/etc/rancher/k3s/config.yaml"
	K3sToken    = "/etc/rancher/k3s/cluster-token"     //nolint:gosec // the name of a file
	K3sTokenOld = "/etc/rancher/k3s/cluster-token.old" //nolint:gosec // the name of a file
	Kubeconfig  = "/etc/rancher/k3s/k3s.yaml"
)

// APIPort is the port of the API servers, at which machines also join.
const APIPort = 6443

// k3sConfig is a configuration of k3s.
type k3sConfig struct {
	ClusterInit bool     `yaml:"cluster-init,omitempty"`
	Server      string   `yaml:"server,omitempty"`
	TokenFile   string   `yaml:"token-file"`
	Name        string   `yaml:"node-name"`
	IP          string   `yaml:"node-ip"`
	Advertise   string   `yaml:"advertise-address,omitempty"`
	Flannel     string   `yaml:"flannel-iface"`
	Names       []string `yaml:"tls-san,omitempty"`
	Labels      []string `yaml:"node-label,omitempty"`
}

// K3s returns the configuration of k3s on a machine.
func (f NodeFile) K3s() ([]byte, error) {
	ip := f.Address().Addr().String()
	c := k3sConfig{TokenFile: K3sToken, Name: f.Name, IP: ip, Flannel: f.Cluster.Interface}
	if f.IsSeed() {
		c.ClusterInit = true
	} else {
		c.Server = fmt.Sprintf("https://%s:%d", f.Cluster.Server, APIPort)
	}
	if !f.Cluster.IsAgent {
		c.Advertise, c.Names = ip, []string{ip, f.Name}
	}
	for _, key := range located.Keys(f.Labels) {
		c.Labels = append(c.Labels, key+"="+f.Labels[key])
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "# Made by `toskose cluster join` for the cluster %s.\n", f.Cluster.Name)
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(c); err != nil {
		return nil, fmt.Errorf("cannot encode the configuration of k3s: %w", err)
	}
	err := encoder.Close()
	return out.Bytes(), err
}

// Service returns the name of k3s's service on a machine.
func (f NodeFile) Service() string { return service(f.Cluster.IsAgent) }

func service(agent bool) string {
	if agent {
		return "k3s-agent"
	}
	return "k3s"
}

// TokenText returns the token as k3s reads it: with the digest of the cluster's certificate authority, if it is known.
func (d Document) TokenText(token string) string {
	if d.CA == "" {
		return token
	}
	return "K10" + d.CA + "::server:" + token
}
