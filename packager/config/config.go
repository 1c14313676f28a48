// Package config defines `toskose.yml`: its schema, its defaults, and its completion for an
// application. Of TOSCA, it uses only the names of an application's nodes and components. It
// starts no goroutine.
package config

// Config is a toskose.yml.
type Config struct {
	Title       string          `yaml:"title,omitempty" json:"title,omitempty"`
	Description string          `yaml:"description,omitempty" json:"description,omitempty"`
	Nodes       map[string]Node `yaml:"nodes" json:"nodes"`
	Manager     Manager         `yaml:"manager" json:"manager"`

	// Components may also be configured here, without their nodes. Check with a target moves
	// them to Nodes.
	Components map[string]Component `yaml:"components,omitempty" json:"components,omitempty"`
	Volumes    map[string]Volume    `yaml:"volumes,omitempty" json:"volumes,omitempty"`
	// AllowHost are paths of the host that the application may use, including paths below them.
	AllowHost []string `yaml:"allow_host,omitempty" json:"allow_host,omitempty"`
	// Secrets names, as COMPONENT.INPUT or CONTAINER.VARIABLE, the values that must not be
	// written in plain text.
	Secrets []string `yaml:"secrets,omitempty" json:"secrets,omitempty"`
}

// Node configures the unit and the image of a toskosed node. A standalone node has only an Alias, Ports,
// Deploy, Compose and Kubernetes, and Docker if its image is built from the archive.
type Node struct {
	Alias    string `yaml:"alias,omitempty" json:"alias,omitempty"` // its name on the network; default: the node's
	Port     int    `yaml:"port,omitempty" json:"port,omitempty"`   // of the unit's API; default: from 9001 on
	User     string `yaml:"user,omitempty" json:"user,omitempty"`
	Password string `yaml:"password,omitempty" json:"-"` // generated unless given
	LogLevel string `yaml:"log_level,omitempty" json:"log_level,omitempty"`
	Logs     Room   `yaml:"logs,omitempty" json:"logs,omitzero"`
	// CoredumpMark enables marks of processes in their coredump_filter; nil: enabled.
	CoredumpMark *bool `yaml:"coredump_mark,omitempty" json:"coredump_mark,omitempty"`
	// MaxUnavailable is the number of replicas that operations may make unavailable at the same
	// time; 0: 1.
	MaxUnavailable int `yaml:"max_unavailable,omitempty" json:"max_unavailable,omitempty"`
	// Ports are the published ports, instead of the ports of the application: [ADDRESS:]HOST:CONTAINER[/PROTOCOL].
	Ports Ports `yaml:"ports,omitempty" json:"ports,omitzero"`
	// Job reports whether the container runs its only Task without the manager and then exits.
	Job bool `yaml:"job,omitempty" json:"job,omitempty"`
	// Compose has further keys of the service in the Compose files.
	Compose    Fragment             `yaml:"compose,omitempty" json:"compose,omitzero"`
	Kubernetes Kubernetes           `yaml:"kubernetes,omitempty" json:"kubernetes,omitzero"`
	Docker     Docker               `yaml:"docker,omitempty" json:"docker,omitzero"`
	Deploy     Deploy               `yaml:"deploy,omitempty" json:"deploy,omitzero"`
	Components map[string]Component `yaml:"components,omitempty" json:"components,omitempty"`
}

// Manager configures the manager.
type Manager struct {
	Alias     string `yaml:"alias,omitempty" json:"alias,omitempty"`
	Port      int    `yaml:"port,omitempty" json:"port,omitempty"` // default 10000
	Bind      string `yaml:"bind,omitempty" json:"bind,omitempty"` // the address of a single engine that the port is published at
	User      string `yaml:"user,omitempty" json:"user,omitempty"`
	Password  string `yaml:"password,omitempty" json:"-"`
	Mode      string `yaml:"mode,omitempty" json:"mode,omitempty"` // production or testing
	Goal      string `yaml:"goal,omitempty" json:"goal,omitempty"` // none or up: the goal until a client sets one
	SecretKey string `yaml:"secret_key,omitempty" json:"-"`
	ClientCA  string `yaml:"client_ca,omitempty" json:"client_ca,omitempty"` // PEM of authorities of users' certificates
	// TLS is the certificate of the API; empty: one signed by the application's own authority.
	TLS    Certificate `yaml:"tls,omitempty" json:"tls,omitzero"`
	Docker Docker      `yaml:"docker,omitempty" json:"docker,omitzero"`
	// Env has variables of OpenTelemetry (OTEL_*), which configure the export of traces.
	Env map[string]string `yaml:"env,omitempty" json:"env,omitempty"`
}

// Certificate names PEM files, relative to toskose.yml: a certificate with its intermediate
// certificates, and its private key.
type Certificate struct {
	Certificate string `yaml:"certificate,omitempty" json:"certificate,omitempty"`
	Key         string `yaml:"key,omitempty" json:"key,omitempty"`
}

// Docker configures the name of an image to build, and its base.
type Docker struct {
	Name             string `yaml:"name,omitempty" json:"name,omitempty"`
	Tag              string `yaml:"tag,omitempty" json:"tag,omitempty"`
	RegistryPassword string `yaml:"registry_password,omitempty" json:"-"`
	BaseImage        string `yaml:"base_image,omitempty" json:"base_image,omitempty"`
	BaseTag          string `yaml:"base_tag,omitempty" json:"base_tag,omitempty"`
}
