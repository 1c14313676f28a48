// Package legacy reads the files in a manager's image from releases before format 1: the application without a
// format, toskose.yml, and the digests of the units' configurations. A newer manager may run in an image with
// these files. The package can be deleted once no supported release writes them. It starts no goroutine.
package legacy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/spec"
	"github.com/toskose/toskose/spec/protocol"
)

// settings is the part of a completed toskose.yml that a manager reads.
type settings struct {
	Nodes   map[string]node
	Manager struct{ Goal string }
}

type node struct {
	Alias, User    string
	Port           int
	MaxUnavailable int `yaml:"max_unavailable"`
	Components     map[string]component
}

type component struct {
	Restart struct {
		Stable   time.Duration
		DelayMax time.Duration `yaml:"delay_max"`
		Attempts int
	}
	Requirements map[string]struct {
		WhileAway string `yaml:"while_away"`
	}
	Operations map[string]struct{ Attempts int }
}

// IsDocument reports whether a document is an application without a format.
func IsDocument(document []byte) bool {
	var header struct {
		Format *int    `json:"format"`
		Name   *string `json:"name"`
	}
	return json.Unmarshal(document, &header) == nil && header.Format == nil && header.Name != nil
}

// Decode returns the application that such a document, its toskose.yml and its digests describe. Digests may be
// empty: they are then unknown.
func Decode(document, config, digests []byte) (*spec.Application, error) {
	var app spec.Application
	if err := json.Unmarshal(document, &app); err != nil {
		return nil, fmt.Errorf("the application: %w", err)
	}
	var conf settings
	if err := yaml.Unmarshal(config, &conf); err != nil {
		return nil, fmt.Errorf("toskose.yml: %w", err)
	}
	known := map[string]string{}
	if len(digests) > 0 {
		if err := json.Unmarshal(digests, &known); err != nil {
			return nil, fmt.Errorf("the digests of units: %w", err)
		}
	}
	if conf.Manager.Goal != "none" {
		app.Goal = conf.Manager.Goal
	}
	for i := range app.Nodes {
		n, cfg := &app.Nodes[i], conf.Nodes[app.Nodes[i].Name]
		n.Alias, n.MaxUnavailable = cfg.Alias, cfg.MaxUnavailable
		if cfg.Port != 0 {
			n.Unit = &spec.Unit{Port: cfg.Port, User: cfg.User, Digest: known[n.Name]}
		}
	}
	for i := range app.Components {
		c := &app.Components[i]
		c.Policy = policy(c, conf.Nodes[c.Node].Components[c.Name])
	}
	return &app, app.Validate()
}

func policy(c *spec.Component, cfg component) *spec.Policy {
	p := spec.Policy{Stable: spec.Duration(cfg.Restart.Stable), MaxDelay: spec.Duration(cfg.Restart.DelayMax), Attempts: map[string]int{}}
	for _, name := range slices.Sorted(maps.Keys(cfg.Requirements)) {
		if cfg.Requirements[name].WhileAway == "down" {
			p.TakeDown = append(p.TakeDown, name)
		}
	}
	for name := range c.Operations() {
		attempts := cfg.Operations[name.String()].Attempts
		if attempts == 0 && c.Protocol.KindOf(name) == protocol.KindRun {
			attempts = cfg.Restart.Attempts
		}
		if attempts > 0 {
			p.Attempts[name.String()] = attempts
		}
	}
	return &p
}
