package config

import (
	"errors"

	"gopkg.in/yaml.v3"
)

// Component configures how the unit runs the operations of a component, and how a goal keeps it
// running. Durations are written as 10s or 1m30s.
type Component struct {
	Readiness    Readiness              `yaml:"readiness,omitempty" json:"readiness,omitzero"`
	Liveness     Liveness               `yaml:"liveness,omitempty" json:"liveness,omitzero"`
	Output       string                 `yaml:"output,omitempty" json:"output,omitempty"` // prefixed, json or none
	Logs         Logs                   `yaml:"logs,omitempty" json:"logs,omitzero"`
	StopSignal   string                 `yaml:"stop_signal,omitempty" json:"stop_signal,omitempty"` // to the processes of a start
	StopGrace    string                 `yaml:"stop_grace,omitempty" json:"stop_grace,omitempty"`   // until KILL
	User         string                 `yaml:"user,omitempty" json:"user,omitempty"`               // USER or USER:GROUP of the base; default: the base's
	Restart      Restart                `yaml:"restart,omitempty" json:"restart,omitzero"`
	Requirements map[string]Requirement `yaml:"requirements,omitempty" json:"requirements,omitempty"` // by name
	Operations   map[string]Operation   `yaml:"operations,omitempty" json:"operations,omitempty"`     // by interface.operation
}

// Readiness defines when a started component is ready: when all checks pass. A completed
// configuration is None or has a check.
type Readiness struct {
	None     bool   `yaml:"-" json:"-"`                           // written "none": with startsecs
	TCP      string `yaml:"tcp,omitempty" json:"tcp,omitempty"`   // PORT or HOST:PORT accepts
	HTTP     string `yaml:"http,omitempty" json:"http,omitempty"` // an address answers with 200 to 399
	Command  string `yaml:"command,omitempty" json:"command,omitempty"`
	Log      string `yaml:"log,omitempty" json:"log,omitempty"`       // a line matches a regular expression (RE2)
	Notify   bool   `yaml:"notify,omitempty" json:"notify,omitempty"` // it reports readiness itself (sd_notify)
	Timeout  string `yaml:"timeout,omitempty" json:"timeout,omitempty"`
	Interval string `yaml:"interval,omitempty" json:"interval,omitempty"` // between two attempts
}

const noReadiness = "none"

// checks reports whether a check is configured.
func (r Readiness) checks() bool {
	return r.TCP != "" || r.HTTP != "" || r.Command != "" || r.Log != "" || r.Notify
}

// SetWord sets the word that is allowed instead of a mapping.
func (r *Readiness) SetWord(word string) bool {
	r.None = word == noReadiness
	return r.None
}

// MarshalYAML is the inverse of UnmarshalYAML.
func (r Readiness) MarshalYAML() (any, error) {
	if r.None {
		return noReadiness, nil
	}
	type keys Readiness
	return keys(r), nil
}

// UnmarshalYAML reads the word or the keys.
func (r *Readiness) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode && n.Tag != "!!null" {
		if !r.SetWord(n.Value) {
			return errors.New("readiness is neither a mapping nor none")
		}
		return nil
	}
	type keys Readiness
	return n.Decode((*keys)(r)) //nolint:wrapcheck // it is the decoder's own
}

// Liveness defines how the unit notices that a running component no longer works: when all of its checks
// fail Failures times in succession. The zero value has no check.
type Liveness struct {
	TCP      string `yaml:"tcp,omitempty" json:"tcp,omitempty"`       // PORT or HOST:PORT accepts
	HTTP     string `yaml:"http,omitempty" json:"http,omitempty"`     // an address answers with Status and Text
	Status   string `yaml:"status,omitempty" json:"status,omitempty"` // 200, or 200-299
	Text     string `yaml:"text,omitempty" json:"text,omitempty"`     // part of the answer
	Command  string `yaml:"command,omitempty" json:"command,omitempty"`
	Interval string `yaml:"interval,omitempty" json:"interval,omitempty"`
	Timeout  string `yaml:"timeout,omitempty" json:"timeout,omitempty"` // of one check
	Failures int    `yaml:"failures,omitempty" json:"failures,omitempty"`
	Grace    string `yaml:"grace,omitempty" json:"grace,omitempty"` // after a start, without checks
	Then     string `yaml:"then,omitempty" json:"then,omitempty"`   // restart, report or exit
}

// checks reports whether a check is configured.
func (l Liveness) checks() bool { return l.TCP != "" || l.HTTP != "" || l.Command != "" }

// Restart configures how a goal restarts a component.
type Restart struct {
	Stable   string `yaml:"stable,omitempty" json:"stable,omitempty"`       // a start that exits sooner has failed
	DelayMax string `yaml:"delay_max,omitempty" json:"delay_max,omitempty"` // between two attempts
	// Attempts is the number of attempts of operations other than start and stop.
	Attempts int `yaml:"attempts,omitempty" json:"attempts,omitempty"`
}

// Values of while_away: the behaviour of a component while its requirement is unavailable.
const (
	whileAwayKeep = "keep" // it runs on
	WhileAwayDown = "down" // it is taken down, and up again
)

// Requirement configures how a goal handles an unmet requirement.
type Requirement struct {
	WhileAway string `yaml:"while_away,omitempty" json:"while_away,omitempty"` // keep, the default, or down
	Live      bool   `yaml:"live,omitempty" json:"live,omitempty"`             // it is also unmet while its target fails liveness checks
}

// Operation holds the settings of an operation that the application does not define.
type Operation struct {
	Kind     string   `yaml:"kind,omitempty" json:"kind,omitempty"`         // run, start or stop; default: by its name
	States   []string `yaml:"states,omitempty" json:"states,omitempty"`     // that it may run in, if no transition names it
	Timeout  string   `yaml:"timeout,omitempty" json:"timeout,omitempty"`   // wins over the application's
	User     string   `yaml:"user,omitempty" json:"user,omitempty"`         // wins over the component's
	Logs     Logs     `yaml:"logs,omitempty" json:"logs,omitzero"`          // wins over the component's
	Attempts int      `yaml:"attempts,omitempty" json:"attempts,omitempty"` // overrides the attempts of Restart
}
