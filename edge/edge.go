// Package edge models a cluster of edge machines: the document cluster.yaml, the file of each machine that is made from it, and changes of
// the cluster, which are functions from a document to the next one. It reads no files and starts no goroutine.
package edge

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/internal/located"
)

// DocumentFile is the name of the document in the folder of a cluster.
const DocumentFile = "cluster.yaml"

// Document is a cluster.yaml.
type Document struct {
	Name      string    `yaml:"name" json:"name"`
	ID        string    `yaml:"id" json:"id"`               // a UUID
	Revision  int       `yaml:"revision" json:"revision"`   // counts the changes, from 1
	Interface string    `yaml:"interface" json:"interface"` // of all machines
	Prefix    string    `yaml:"prefix" json:"prefix"`       // of the machines' addresses on the interface
	Reserved  []string  `yaml:"reserved,flow,omitempty" json:"reserved,omitempty"`
	Seed      string    `yaml:"seed" json:"seed"` // the server that all others join
	CA        string    `yaml:"ca,omitempty" json:"ca,omitempty"`
	Freed     []string  `yaml:"freed,flow,omitempty" json:"freed,omitempty"` // addresses of removed machines, the first to be assigned again first
	Nodes     []Node    `yaml:"nodes" json:"nodes"`
	Networks  []Network `yaml:"networks,omitempty" json:"networks,omitempty"`

	source *yaml.Node // the document that was parsed: its comments and styles are kept
}

// Role is the role of a machine in the cluster.
type Role string

// The roles.
const (
	Server Role = "server" // runs an API server and a member of etcd
	Agent  Role = "agent"
)

// Node is a machine of the cluster.
type Node struct {
	Name    string            `yaml:"name" json:"name"`
	Role    Role              `yaml:"role" json:"role"`
	Address string            `yaml:"address" json:"address"`
	Key     string            `yaml:"key" json:"key"` // an age recipient, which only this machine has the identity of
	Labels  map[string]string `yaml:"labels,omitempty" json:"labels,omitempty"`
}

// Parse reads a cluster.yaml. Its error has all problems, as located.Problems; file is the name in them.
func Parse(file string, data []byte) (Document, error) {
	var d Document
	decoded := located.Decode(file, data, &d)
	if len(decoded.Problems) == 0 {
		for _, f := range d.check() {
			decoded.Report(position(decoded.At, f.path), "%s", f.text)
		}
	}
	if len(decoded.Problems) > 0 {
		return Document{}, decoded.Problems.Sorted()
	}
	var source yaml.Node
	if err := yaml.Unmarshal(data, &source); err != nil {
		return Document{}, fmt.Errorf("cannot read %s: %w", file, err)
	}
	d.source = &source
	return d, nil
}

// position returns the position of a value or, if the document does not have it, of the mapping or list that it belongs to.
func position(at map[string]located.Position, path string) located.Position {
	for {
		if p, ok := at[path]; ok {
			return p
		}
		i := strings.LastIndexByte(path, '.')
		if i < 0 {
			return located.Position{Line: 1, Column: 1}
		}
		path = path[:i]
	}
}

// schemaComment has editors check the document by its JSON Schema.
const schemaComment = "# yaml-language-server: $schema=https://raw.githubusercontent.com/toskose/toskose/main/docs/cluster.schema.json\n"

// Encode returns the document as YAML: always the same bytes for the same document, with the comments of the document that was parsed.
func (d Document) Encode() ([]byte, error) {
	var out bytes.Buffer
	var root yaml.Node
	if err := root.Encode(d); err != nil {
		return nil, fmt.Errorf("cannot encode %s: %w", DocumentFile, err)
	}
	flow(&root)
	top := &yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{&root}}
	if d.source == nil {
		out.WriteString(schemaComment)
	} else {
		keepStyle(d.source, top)
	}
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(top); err != nil {
		return nil, fmt.Errorf("cannot encode %s: %w", DocumentFile, err)
	}
	err := encoder.Close()
	return out.Bytes(), err
}

// flow writes each machine and each network in one line.
func flow(root *yaml.Node) {
	for _, list := range root.Content {
		if list.Kind == yaml.SequenceNode {
			for _, item := range list.Content {
				item.Style = yaml.FlowStyle
			}
		}
	}
}

// keepStyle copies comments and styles to a node from a node of the same path.
func keepStyle(from, to *yaml.Node) {
	to.HeadComment, to.LineComment, to.FootComment = from.HeadComment, from.LineComment, from.FootComment
	if from.Kind != to.Kind {
		return
	}
	if to.Kind != yaml.ScalarNode {
		to.Style = from.Style
	}
	for i, child := range to.Content {
		var old *yaml.Node
		switch {
		case to.Kind == yaml.MappingNode && i%2 == 1: // with its key
			continue
		case to.Kind == yaml.MappingNode:
			if at := keyIndex(from, child.Value); at >= 0 {
				keepStyle(from.Content[at], child)
				keepStyle(from.Content[at+1], to.Content[i+1])
			}
			continue
		case to.Kind == yaml.SequenceNode && child.Kind == yaml.MappingNode:
			old = named(from, child)
		case i < len(from.Content):
			old = from.Content[i]
		}
		if old != nil {
			keepStyle(old, child)
		}
	}
}

// keyIndex returns the index of a key in the content of a mapping, or -1.
func keyIndex(mapping *yaml.Node, key string) int {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// named returns the item of a list that has the same name as another item, or nil.
func named(list, item *yaml.Node) *yaml.Node {
	name := func(n *yaml.Node) string {
		if i := keyIndex(n, "name"); i >= 0 && n.Kind == yaml.MappingNode {
			return n.Content[i+1].Value
		}
		return ""
	}
	i := slices.IndexFunc(list.Content, func(n *yaml.Node) bool { return name(n) != "" && name(n) == name(item) })
	if i < 0 {
		return nil
	}
	return list.Content[i]
}

// Node returns the machine with a name.
func (d Document) Node(name string) (Node, bool) {
	i := d.index(name)
	if i < 0 {
		return Node{}, false
	}
	return d.Nodes[i], true
}

func (d Document) index(name string) int {
	return slices.IndexFunc(d.Nodes, func(n Node) bool { return n.Name == name })
}

// Names returns the names of all machines, in the order of the document.
func (d Document) Names() []string {
	names := make([]string, len(d.Nodes))
	for i, n := range d.Nodes {
		names[i] = n.Name
	}
	return names
}

// Servers returns the machines that are servers.
func (d Document) Servers() []Node {
	return slices.DeleteFunc(slices.Clone(d.Nodes), func(n Node) bool { return n.Role != Server })
}

// SeedAddress returns the address of the seed.
func (d Document) SeedAddress() string {
	seed, _ := d.Node(d.Seed)
	return seed.Address
}

// prefix returns the prefix of the machines. The document has been checked.
func (d Document) prefix() netip.Prefix {
	p, _ := netip.ParsePrefix(d.Prefix)
	return p
}

// copied returns a copy whose lists can be changed.
func (d Document) copied() Document {
	d.Nodes, d.Freed, d.Networks = slices.Clone(d.Nodes), slices.Clone(d.Freed), slices.Clone(d.Networks)
	for i := range d.Networks {
		d.Networks[i].Applications = slices.Clone(d.Networks[i].Applications)
	}
	return d
}
