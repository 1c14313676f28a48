package compose

import "github.com/toskose/toskose/packager"

type health struct {
	Disable  bool     `yaml:"disable,omitempty"`
	Test     []string `yaml:"test,flow,omitempty"`
	Interval string   `yaml:"interval,omitempty"`
	Timeout  string   `yaml:"timeout,omitempty"`
	Retries  int      `yaml:"retries,omitempty"`
}

// healthOf returns the health check of a container. A job has none: no service waits for its unit, and a Swarm that waits for
// the check does not notice a job that exits quickly.
func healthOf(s packager.Service) *health {
	switch {
	case s.Job != nil:
		return &health{Disable: true}
	case len(s.Pulse) > 0:
		return &health{Test: append([]string{"CMD"}, s.Pulse...), Interval: packager.PulseInterval.String(), Timeout: packager.PulseTimeout.String(), Retries: packager.PulseRetries}
	case len(s.Health) > 0:
		return &health{Test: append([]string{"CMD"}, s.Health...), Interval: packager.HealthInterval.String(), Timeout: packager.HealthTimeout.String(), Retries: packager.HealthRetries}
	}
	return nil
}
