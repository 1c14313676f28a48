package config

import (
	"encoding/json"
	"strconv"

	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/internal/located"
)

// Fragment is a mapping that is written into a manifest as it is. Its nodes have the positions in its file.
type Fragment struct {
	File string
	Node *yaml.Node // a mapping without aliases; nil: none
}

// Kubernetes configures a container's workload on Kubernetes.
type Kubernetes struct {
	Patch Fragment `yaml:"patch,omitempty" json:"patch,omitzero"` // merged into the workload
}

// IsZero reports whether the fragment is empty.
func (f Fragment) IsZero() bool { return f.Node == nil || len(f.Node.Content) == 0 }

// MarshalYAML returns the mapping.
func (f Fragment) MarshalYAML() (any, error) { return f.Node, nil }

// UnmarshalYAML reads a mapping.
func (f *Fragment) UnmarshalYAML(n *yaml.Node) error {
	f.Node = n
	return nil
}

// MarshalJSON returns the mapping.
func (f Fragment) MarshalJSON() ([]byte, error) {
	var value any
	if f.Node != nil {
		if err := f.Node.Decode(&value); err != nil {
			return nil, err //nolint:wrapcheck // it is the decoder's own
		}
	}
	return json.Marshal(value)
}

// Problem returns a problem at one of the fragment's nodes.
func (f Fragment) Problem(at *yaml.Node, message string) Problem {
	return Problem{File: f.File, Line: at.Line, Column: at.Column, Message: message}
}

// Get returns the value of a key of a mapping, or nil.
func (f Fragment) Get(key string) *yaml.Node {
	if f.Node == nil {
		return nil
	}
	for i := 0; i+1 < len(f.Node.Content); i += 2 {
		if f.Node.Content[i].Value == key {
			return f.Node.Content[i+1]
		}
	}
	return nil
}

// Quoted copies a value for a manifest. Texts are quoted, so that no parser reads them as numbers or booleans; escape, unless nil,
// replaces them.
func Quoted(n *yaml.Node, escape func(string) string) *yaml.Node {
	made := &yaml.Node{Kind: n.Kind, Tag: n.Tag, Value: n.Value}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
		made.Style, made.Tag = yaml.DoubleQuotedStyle, "!!str"
		if escape != nil {
			made.Value = escape(n.Value)
		}
	}
	for i, one := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			made.Content = append(made.Content, Key(one.Value))
		} else {
			made.Content = append(made.Content, Quoted(one, escape))
		}
	}
	return made
}

// Key returns the key of a mapping.
func Key(name string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name}
}

// Limits of a fragment. A manifest's own values are far below them.
const (
	maxFragmentValues = 5000
	maxFragmentDepth  = 40
)

// DecodeNode copies a mapping without aliases and comments.
func (f *Fragment) DecodeNode(d *located.Decoder, n *yaml.Node, path string) {
	left := maxFragmentValues
	made := copyNode(d, n, path, maxFragmentDepth, &left)
	if left < 0 {
		d.Bad[path] = true
		d.ReportAt(path, "has more than %d values, or is nested more than %d levels deep", maxFragmentValues, maxFragmentDepth)
		return
	}
	*f = Fragment{File: d.File, Node: made}
}

// copyNode copies a node and records the positions of its values. It makes left negative if there are too many values.
func copyNode(d *located.Decoder, n *yaml.Node, path string, depth int, left *int) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if *left--; *left < 0 || depth == 0 {
		*left = -1
		return n
	}
	made := &yaml.Node{Kind: n.Kind, Style: n.Style, Tag: n.Tag, Value: n.Value, Line: n.Line, Column: n.Column}
	switch n.Kind {
	case yaml.MappingNode:
		d.Pairs(n, path, func(key, value *yaml.Node) {
			at := located.Join(path, key.Value)
			if key.ShortTag() == "!!merge" {
				d.Report(located.Position{Line: key.Line, Column: key.Column}, "%s: merge keys are not supported here", at)
				return
			}
			k := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key.Value, Line: key.Line, Column: key.Column}
			made.Content = append(made.Content, k, copyNode(d, value, at, depth-1, left))
			d.At[at] = located.Position{Line: key.Line, Column: key.Column}
		})
	case yaml.SequenceNode:
		for i, item := range n.Content {
			at := located.Join(path, strconv.Itoa(i))
			made.Content = append(made.Content, copyNode(d, item, at, depth-1, left))
			d.At[at] = located.Position{Line: item.Line, Column: item.Column}
		}
	case yaml.ScalarNode, yaml.DocumentNode, yaml.AliasNode:
	}
	return made
}
