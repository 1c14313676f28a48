package config

// Deploy configures how an orchestrator runs a container, with the keys of Compose 3.7 ("deploy"). The
// orchestrator has its own defaults.
type Deploy struct {
	Replicas       *int              `yaml:"replicas,omitempty" json:"replicas,omitempty"`
	Resources      Resources         `yaml:"resources,omitempty" json:"resources,omitzero"`
	Placement      Placement         `yaml:"placement,omitempty" json:"placement,omitzero"`
	RestartPolicy  RestartPolicy     `yaml:"restart_policy,omitempty" json:"restart_policy,omitzero"`
	UpdateConfig   Update            `yaml:"update_config,omitempty" json:"update_config,omitzero"`
	RollbackConfig Update            `yaml:"rollback_config,omitempty" json:"rollback_config,omitzero"`
	Labels         map[string]string `yaml:"labels,omitempty" json:"labels,omitempty"`
}

// Resources are a container's resource limits and reservations.
type Resources struct {
	Limits       Amounts `yaml:"limits,omitempty" json:"limits,omitzero"`
	Reservations Amounts `yaml:"reservations,omitempty" json:"reservations,omitzero"`
}

// Amounts are amounts of resources. CPUs is a decimal number. Memory has one of Compose's units: b,
// k, m or g, optionally followed by b; powers of 1024.
type Amounts struct {
	CPUs   string `yaml:"cpus,omitempty" json:"cpus,omitempty"`
	Memory string `yaml:"memory,omitempty" json:"memory,omitempty"`
}

// Placement restricts the machines that a container may run on.
type Placement struct {
	Constraints []string     `yaml:"constraints,omitempty" json:"constraints,omitempty"`
	Preferences []Preference `yaml:"preferences,omitempty" json:"preferences,omitempty"`
}

// Preference spreads replicas over the values of a label.
type Preference struct {
	Spread string `yaml:"spread,omitempty" json:"spread,omitempty"`
}

// RestartPolicy defines when an exited container is restarted.
type RestartPolicy struct {
	Condition   string `yaml:"condition,omitempty" json:"condition,omitempty"` // none, on-failure or any
	Delay       string `yaml:"delay,omitempty" json:"delay,omitempty"`
	MaxAttempts *int   `yaml:"max_attempts,omitempty" json:"max_attempts,omitempty"`
	Window      string `yaml:"window,omitempty" json:"window,omitempty"`
}

// Update configures how replicas are updated or rolled back.
type Update struct {
	Parallelism     *int     `yaml:"parallelism,omitempty" json:"parallelism,omitempty"` // 0: all at once
	Delay           string   `yaml:"delay,omitempty" json:"delay,omitempty"`
	FailureAction   string   `yaml:"failure_action,omitempty" json:"failure_action,omitempty"`
	Monitor         string   `yaml:"monitor,omitempty" json:"monitor,omitempty"`
	MaxFailureRatio *float64 `yaml:"max_failure_ratio,omitempty" json:"max_failure_ratio,omitempty"`
	Order           string   `yaml:"order,omitempty" json:"order,omitempty"` // stop-first or start-first
}

// Volume configures the storage of a volume. It overrides the application's settings.
type Volume struct {
	// Name is the name of the existing volume or claim, if the volume is External; empty: the application's name of the volume.
	Name string `yaml:"name,omitempty" json:"name,omitempty"`
	// External reports that the volume exists already: it is neither created nor removed, and has no driver here.
	External   bool              `yaml:"external,omitempty" json:"external,omitempty"`
	Driver     string            `yaml:"driver,omitempty" json:"driver,omitempty"`
	DriverOpts map[string]string `yaml:"driver_opts,omitempty" json:"driver_opts,omitempty"`
}
