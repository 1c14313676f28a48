package compose

import (
	"fmt"
	gonet "net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/config"
)

// MarshalYAML encodes a port that is bound to one address in the short syntax: older Compose versions ignore an address in the
// long syntax and publish the port at all addresses.
func (p port) MarshalYAML() (any, error) {
	if p.bind == "" {
		type plain port
		return plain(p), nil
	}
	return text(fmt.Sprintf("%s:%d/%s", gonet.JoinHostPort(p.bind, strconv.Itoa(p.Published)), p.Target, p.Protocol)), nil
}

// UnmarshalYAML reads both syntaxes.
func (p *port) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode {
		type plain port
		return n.Decode((*plain)(p)) //nolint:wrapcheck // it is the decoder's own
	}
	read, err := config.ParsePort(n.Value)
	*p = port{Target: read.Container, Published: read.Host, Protocol: read.Protocol, bind: read.Address}
	return err
}

// boundPorts lists the ports that the application publishes at one address of a single engine, for messages.
func boundPorts(plan *packager.Plan) []string {
	var all []string
	for _, s := range plan.Services {
		for _, p := range s.Ports {
			if p.Bind != "" && !s.IsManager {
				all = append(all, fmt.Sprintf("port %s of container %q", gonet.JoinHostPort(p.Bind, strconv.Itoa(p.Host)), s.Name))
			}
		}
	}
	return all
}

// NotOnSwarm returns the error for ports with an address.
func NotOnSwarm(bound []string) error {
	return fmt.Errorf("a Swarm publishes ports at all addresses, and not at one: %s; use --target compose, or publish it without an address (ports in toskose.yml)", strings.Join(bound, ", "))
}

// Published is a port of the host that a service publishes.
type Published struct {
	Service  string
	Port     int
	Protocol string // tcp or udp
	Mode     string // in a Swarm: ingress or host
	At       string // the address of a single engine; empty: all
	Replicas int    // of the service; 0: the default
}

// ReadPublished returns the ports of the host that the application in an output folder publishes, by one of its Compose files.
func ReadPublished(dir, file string) ([]Published, error) {
	path := filepath.Join(dir, file)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%q was not packaged by toskose: %w", dir, err)
	}
	var f struct {
		Services yaml.Node `yaml:"services"`
	}
	if err := yaml.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("cannot read %q: %w", path, err)
	}
	var all []Published
	for i := 0; i+1 < len(f.Services.Content); i += 2 { // in the file's order
		var s struct {
			Ports  []port `yaml:"ports"`
			Deploy struct {
				Replicas int `yaml:"replicas"`
			} `yaml:"deploy"`
		}
		if err := f.Services.Content[i+1].Decode(&s); err != nil {
			return nil, fmt.Errorf("cannot read %q: %w", path, err)
		}
		for _, p := range s.Ports {
			all = append(all, Published{f.Services.Content[i].Value, p.Published, p.Protocol, p.Mode, p.bind, s.Deploy.Replicas})
		}
	}
	return all, nil
}
