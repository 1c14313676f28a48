package config

import (
	"slices"

	"github.com/toskose/toskose/internal/located"
)

// Problem is a problem of a toskose.yml.
type Problem = located.Problem

// Problems lists the problems of a toskose.yml in the order of its lines.
type Problems = located.Problems

// File is a decoded toskose.yml that was not checked yet.
type File struct {
	cfg     Config
	decoded decoder // with the problems of syntax and types
}

// decoder adds the checks of a toskose.yml.
type decoder struct{ located.Decoder }

// Parse decodes a toskose.yml strictly. Check returns its problems; file is the name in their messages.
func Parse(file string, data []byte) *File {
	f := &File{}
	f.decoded.Decoder = located.Decode(file, data, &f.cfg)
	return f
}

// Check returns the configuration, or all of its problems at once, as Problems. With a target it also checks the names of nodes
// and conflicts with the application, and moves all components into their nodes.
func (f *File) Check(target *Target) (Config, error) {
	d, cfg := f.decoded, f.cfg
	d.Problems = slices.Clone(d.Problems)
	d.check(cfg, target)
	if len(d.Problems) > 0 {
		return Config{}, d.Problems.Sorted()
	}
	if target != nil {
		cfg.moveComponents(target)
		if d.checkRoom(cfg, target); len(d.Problems) > 0 {
			return Config{}, d.Problems.Sorted()
		}
	}
	return cfg, nil
}
