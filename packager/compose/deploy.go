package compose

import (
	"strconv"

	"github.com/toskose/toskose/packager"
	"github.com/toskose/toskose/packager/config"
)

type deploy struct {
	EndpointMode string          `yaml:"endpoint_mode"`
	Replicas     *int            `yaml:"replicas,omitempty"`
	Labels       map[string]text `yaml:"labels,omitempty"`
	Resources    resources       `yaml:"resources,omitempty"`
	Placement    placement       `yaml:"placement,omitempty"`
	Update       update          `yaml:"update_config"`
	Rollback     update          `yaml:"rollback_config,omitempty"`
	Restart      restart         `yaml:"restart_policy"`
}

type resources struct {
	Limits       amounts `yaml:"limits,omitempty"`
	Reservations amounts `yaml:"reservations,omitempty"`
}

type amounts struct {
	CPUs   text `yaml:"cpus,omitempty"`
	Memory text `yaml:"memory,omitempty"`
}

type placement struct {
	Constraints []text       `yaml:"constraints,omitempty"`
	Preferences []preference `yaml:"preferences,omitempty"`
}

type preference struct {
	Spread text `yaml:"spread"`
}

type update struct {
	Parallelism     *int     `yaml:"parallelism,omitempty"`
	Delay           string   `yaml:"delay,omitempty"`
	FailureAction   string   `yaml:"failure_action,omitempty"`
	Monitor         string   `yaml:"monitor,omitempty"`
	MaxFailureRatio *float64 `yaml:"max_failure_ratio,omitempty"`
	Order           string   `yaml:"order,omitempty"`
}

type restart struct {
	Condition   string `yaml:"condition"`
	Delay       string `yaml:"delay,omitempty"`
	MaxAttempts *int   `yaml:"max_attempts,omitempty"`
	Window      string `yaml:"window,omitempty"`
}

// deployOf returns a service's deployment settings for a Swarm, from toskose.yml. By default a container that exits is
// replaced, and an update whose containers fail is rolled back. Other Swarm defaults are not written: for an update order,
// kompose generates a Deployment that clusters reject if the container has a volume.
func deployOf(s packager.Service, opts Options) *deploy {
	c := s.Deploy
	d := &deploy{
		EndpointMode: opts.EndpointMode, Replicas: c.Replicas, Labels: texts(c.Labels),
		Resources: resources{amountsOf(c.Resources.Limits), amountsOf(c.Resources.Reservations)},
		Update:    update(c.UpdateConfig), Rollback: update(c.RollbackConfig),
		Restart: restart(c.RestartPolicy),
	}
	if d.Restart.Condition == "" {
		d.Restart.Condition = "any"
	}
	if d.Update.FailureAction == "" {
		d.Update.FailureAction = "rollback"
		if s.Job != nil {
			d.Update.FailureAction = "continue" // a Swarm considers an update failed if a container exits soon after the start, even with 0
		}
	}
	for _, constraint := range c.Placement.Constraints {
		d.Placement.Constraints = append(d.Placement.Constraints, text(constraint))
	}
	for _, p := range c.Placement.Preferences {
		d.Placement.Preferences = append(d.Placement.Preferences, preference{text(p.Spread)})
	}
	return d
}

func amountsOf(a config.Amounts) amounts { return amounts{text(a.CPUs), text(a.Memory)} }

// restartOf returns the restart policy for a single engine. Containers that a user stopped stay stopped.
func restartOf(r config.RestartPolicy) text {
	switch {
	case r.Condition == "none":
		return "no"
	case r.Condition == "on-failure" && r.MaxAttempts != nil && *r.MaxAttempts > 0:
		return text("on-failure:" + strconv.Itoa(*r.MaxAttempts))
	case r.Condition == "on-failure":
		return "on-failure"
	default:
		return "unless-stopped"
	}
}
