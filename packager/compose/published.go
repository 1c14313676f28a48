package compose

import (
	"fmt"
	"os"
	"path/filepath"

	"gopkg.in/yaml.v3"
)

// Published is a port of the host that a service publishes.
type Published struct {
	Service  string
	Port     int
	Protocol string // tcp or udp
	Mode     string // in a Swarm: ingress or host
}

// ReadPublished returns the ports of the host that the application in an output folder publishes.
func ReadPublished(dir string) ([]Published, error) {
	path := filepath.Join(dir, SwarmFile)
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
			Ports []port `yaml:"ports"`
		}
		if err := f.Services.Content[i+1].Decode(&s); err != nil {
			return nil, fmt.Errorf("cannot read %q: %w", path, err)
		}
		for _, p := range s.Ports {
			all = append(all, Published{f.Services.Content[i].Value, p.Published, p.Protocol, p.Mode})
		}
	}
	return all, nil
}
