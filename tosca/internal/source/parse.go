package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/toskose/toskose/tosca/diag"
)

// The codes of YAML errors.
const (
	codeSyntax    = "TOSCA-YAML-001" // no YAML
	codeEmpty     = "TOSCA-YAML-002" // no document
	codeMany      = "TOSCA-YAML-003" // more than one document
	codeDuplicate = "TOSCA-YAML-004" // a duplicate key
	codeKey       = "TOSCA-YAML-005" // a key that is not a scalar
	codeTag       = "TOSCA-YAML-006" // a tag of YAML's own or the author's
	codeMerge     = "TOSCA-YAML-007" // a merge of anything but maps
	codeCharacter = "TOSCA-YAML-008" // a character that cannot be passed on
	codeRecursion = "TOSCA-YAML-010" // an alias within its own anchor
	codeDepth     = "TOSCA-YAML-011" // nested too deeply
	codeBomb      = "TOSCA-YAML-012" // aliases that expand to too much
	codeSize      = "TOSCA-YAML-013" // too large
)

// The limits of a file. A topology of 100,000 nodes is within them.
const (
	MaxBytes     = 32 << 20
	maxMarks     = 6 << 20 // characters that may start a node; a node takes much more memory than its byte
	maxExpanded  = 8 << 20 // nodes, with aliases expanded
	maxDepth     = 128
	maxReported  = 100     // problems reported for one file
	maxKey       = 1 << 10 // bytes of a key that is a list or map
	markAlphabet = ",:-?[{\n"
)

// Parse reads one document. It returns a nil tree if the list is not empty.
func Parse(file string, data []byte) (*Node, diag.List) {
	return parse(&parser{file: &file, done: map[*yaml.Node]built{}}, file, data)
}

// Options allow syntax that most documents must not use.
type Options struct {
	// ListKeys is called with the scalar entries of the outermost map. If it returns
	// true for one of them, keys of the document may be lists and maps; the text of such
	// a key is its flow notation. The tag !!timestamp is then not allowed, and numbers
	// follow YAML 1.2 (TOSCA 2.0, 9.1).
	ListKeys func(key, value string) bool
}

// ParseWith is Parse with options. It also returns a tree if all problems leave the rest
// readable: the first of duplicate keys is kept, invalid keys are dropped, and unknown
// tags are ignored.
func ParseWith(file string, data []byte, opts Options) (*Node, diag.List) {
	p := &parser{file: &file, opts: opts, done: map[*yaml.Node]built{}}
	n, bad := parse(p, file, data)
	if n == nil && p.root != nil && !p.overLimit {
		return p.root, bad
	}
	return n, bad
}

// ParseOutside is Parse for text from outside of any file. Its nodes have no line.
func ParseOutside(from string, data []byte) (*Node, diag.List) {
	return parse(&parser{file: &from, outside: true, done: map[*yaml.Node]built{}}, from, data)
}

func parse(p *parser, file string, data []byte) (*Node, diag.List) {
	if len(data) > MaxBytes || marks(data) > maxMarks {
		return nil, diag.List{{
			Position: diag.Position{File: file}, Code: codeSize,
			Message: fmt.Sprintf("the file is too large: at most %d bytes and about %d values are read", MaxBytes, maxMarks),
		}}
	}
	if isXML.Match(data) {
		at := diag.Position{File: file, Line: 1, Column: 1}
		return nil, diag.List{{Position: at, Code: codeSyntax, Message: "not YAML but XML: service templates in XML, of TOSCA 1.0, are not read"}}
	}
	doc, bad := decode(file, data)
	if bad != nil {
		return nil, diag.List{*bad}
	}
	p.detectListKeys(doc)
	b := p.build(doc, 0)
	if more := p.failed - maxReported; more > 1 {
		p.problems[maxReported].Message = fmt.Sprintf("and %d more problems in the YAML from here on", more)
	}
	if len(p.problems) > 0 {
		p.root = b.node
		return nil, p.problems
	}
	return b.node, nil
}

func (p *parser) detectListKeys(root *yaml.Node) {
	if p.opts.ListKeys == nil || root.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(root.Content) && !p.listKeys; i += 2 {
		k, v := root.Content[i], root.Content[i+1]
		p.listKeys = k.Kind == yaml.ScalarNode && v.Kind == yaml.ScalarNode && p.opts.ListKeys(k.Value, v.Value)
	}
}

func marks(data []byte) int {
	n := 0
	for _, c := range []byte(markAlphabet) {
		n += bytes.Count(data, []byte{c})
	}
	return n
}

// decode returns the tree of yaml.v3. The library panics on a few malformed documents,
// which are reported as malformed.
func decode(file string, data []byte) (root *yaml.Node, bad *diag.Diagnostic) {
	at := diag.Position{File: file}
	defer func() {
		if recover() != nil {
			root, bad = nil, &diag.Diagnostic{Position: at, Code: codeSyntax, Message: "the file cannot be read as YAML"}
		}
	}()
	if bytes.HasPrefix(data, []byte("\x00\x00\xfe\xff")) || bytes.HasPrefix(data, []byte("\xff\xfe\x00\x00")) {
		return nil, &diag.Diagnostic{Position: at, Code: codeSyntax, Message: "not YAML: the file is in UTF-32; UTF-8 and UTF-16 are read"}
	}
	data = diag.UTF8(data)
	dec := yaml.NewDecoder(bytes.NewReader(olderYAML(data)))
	var doc, second yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, &diag.Diagnostic{Position: at, Code: codeEmpty, Message: "the file holds no YAML document"}
	case err != nil:
		return nil, syntax(file, data, err)
	}
	switch err := dec.Decode(&second); {
	case err == nil:
		at.Line, at.Column = second.Line, second.Column
		return nil, &diag.Diagnostic{Position: at, Code: codeMany, Message: "the file holds a second YAML document"}
	case !errors.Is(err, io.EOF):
		return nil, syntax(file, data, err)
	}
	if len(doc.Content) != 1 {
		return nil, &diag.Diagnostic{Position: at, Code: codeEmpty, Message: "the file holds no YAML document"}
	}
	return doc.Content[0], nil
}

// built is a node with the cost of walking it.
type built struct {
	node  *Node
	size  int // nodes, aliases expanded
	depth int // levels, aliases expanded
}

type parser struct {
	file      *string
	opts      Options
	listKeys  bool                 // the result of Options.ListKeys
	outside   bool                 // nodes have no line
	done      map[*yaml.Node]built // by anchor; under construction if the node is nil
	copied    int                  // keys that merges copied
	problems  diag.List            // at most one more than is reported
	failed    int
	root      *Node // set if there are problems
	overLimit bool  // a limit is exceeded, so the tree must not be walked

	// Nodes are allocated in blocks, as a large document has millions.
	nodes []Node  // not used yet
	parts []parts // not used yet
	lists []*Node // not used yet
	block int     // size of the last block
}

// The smallest and largest block of nodes.
const (
	minBlock = 16
	maxBlock = 256
)

func (p *parser) fail(at *yaml.Node, code, message string) {
	switch code {
	case codeDuplicate, codeKey, codeTag, codeMerge, codeCharacter:
	default:
		p.overLimit = true
	}
	p.failed++
	if p.failed <= maxReported+1 {
		pos := diag.Position{File: *p.file, Line: at.Line, Column: at.Column}
		p.problems = append(p.problems, diag.Diagnostic{Position: pos, Code: code, Message: message})
	}
}

func (p *parser) node(y *yaml.Node) *Node {
	if p.outside {
		return Outside(*p.file)
	}
	if len(p.nodes) == 0 {
		p.block = min(2*p.block+minBlock, maxBlock)
		p.nodes = make([]Node, p.block)
	}
	n := &p.nodes[0]
	p.nodes = p.nodes[1:]
	n.file, n.line, n.column, n.parts = p.file, int32(y.Line), int32(y.Column), noParts
	return n
}

// makeCollection makes the node a list or map.
func (p *parser) makeCollection(n *Node, kind Kind) {
	if len(p.parts) == 0 {
		p.parts = make([]parts, p.block/4+1)
	}
	n.Kind, n.parts = kind, &p.parts[0]
	p.parts = p.parts[1:]
}

// list returns an empty list with some capacity.
func (p *parser) list(size int) []*Node {
	if size > len(p.lists) {
		if size > minBlock {
			return make([]*Node, 0, size)
		}
		p.lists = make([]*Node, 2*p.block+minBlock)
	}
	made := p.lists[:0:size]
	p.lists = p.lists[size:]
	return made
}

func (p *parser) build(y *yaml.Node, depth int) built {
	if y.Kind == yaml.AliasNode {
		return p.alias(y, depth)
	}
	if y.Anchor == "" {
		return p.value(y, depth)
	}
	p.done[y] = built{}
	b := p.value(y, depth)
	p.done[y] = b
	return b
}

func (p *parser) value(y *yaml.Node, depth int) built {
	n := p.node(y)
	b := built{node: n, size: 1, depth: 1}
	if depth > maxDepth {
		p.fail(y, codeDepth, fmt.Sprintf("nested more than %d levels deep", maxDepth))
		return b
	}
	switch y.Kind {
	case yaml.ScalarNode:
		p.scalar(n, y)
	case yaml.SequenceNode:
		p.tag(y, "!!seq")
		p.makeCollection(n, List)
		n.Items = p.list(len(y.Content))
		for _, c := range y.Content {
			n.Items = append(n.Items, b.add(p.build(c, depth+1)))
		}
	case yaml.MappingNode:
		p.tag(y, "!!map")
		p.makeCollection(n, Map)
		p.mapping(n, &b, y, depth)
	default:
		p.fail(y, codeSyntax, "not YAML: an unexpected node")
	}
	y.Content = nil // the tree of yaml.v3 is several times as large as ours
	p.bounds(y, &b, depth)
	return b
}

func (b *built) add(child built) *Node {
	b.size += child.size
	b.depth = max(b.depth, child.depth+1)
	return child.node
}

func (p *parser) bounds(y *yaml.Node, b *built, depth int) {
	switch {
	case b.size > maxExpanded:
		if len(p.problems) == 0 {
			p.fail(y, codeBomb, fmt.Sprintf("aliases expand to more than %d values", maxExpanded))
		}
		b.size = 1 // one report is enough
	case depth+b.depth > maxDepth+2:
		if len(p.problems) == 0 {
			p.fail(y, codeDepth, fmt.Sprintf("nested more than %d levels deep", maxDepth))
		}
		b.depth = 1
	}
}

func (p *parser) alias(y *yaml.Node, depth int) built {
	b := p.done[y.Alias]
	if b.node == nil {
		p.fail(y, codeRecursion, fmt.Sprintf("alias %q is within its own anchor", "*"+y.Value))
		return built{node: p.node(y), size: 1, depth: 1}
	}
	p.bounds(y, &b, depth)
	return b
}

func (p *parser) tag(y *yaml.Node, want string) {
	if tag := y.ShortTag(); tag != want {
		p.fail(y, codeTag, fmt.Sprintf("tag %q means nothing in TOSCA", tag))
	}
}

func (p *parser) scalar(n *Node, y *yaml.Node) {
	n.Text = y.Value
	n.plain = y.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) == 0
	switch tag := y.ShortTag(); tag {
	case "!!null":
		n.Kind, n.Text = Null, ""
	case "!!bool":
		n.Kind = Bool
	case "!!int", "!!float":
		n.Kind = p.number(y, tag)
	case "!!str", "!!timestamp", "!!merge":
		n.Kind = String
		if p.listKeys && tag == "!!timestamp" && y.Style&yaml.TaggedStyle != 0 {
			p.fail(y, codeTag, fmt.Sprintf("tag %q means nothing in TOSCA", tag))
		}
	default:
		n.Kind = String
		p.fail(y, codeTag, fmt.Sprintf("tag %q means nothing in TOSCA", tag))
	}
	if strings.Contains(n.Text, "\x00") || strings.Contains(n.Text, "\uFFFE") {
		p.fail(y, codeCharacter, "a string with the character U+0000 or U+FFFE cannot be passed on")
	}
}

func (p *parser) mapping(n *Node, b *built, y *yaml.Node, depth int) {
	half := len(y.Content) / 2
	n.Keys, n.Items = p.list(half), p.list(half)
	var few [indexed]int
	lines := few[:0] // of Keys, where aliases are written
	var merged []*Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		ky, vy := y.Content[i], y.Content[i+1]
		if ky.Kind == yaml.ScalarNode && ky.ShortTag() == "!!merge" {
			merged = append(merged, p.merged(b, vy, depth)...)
			continue
		}
		key := b.add(p.build(ky, depth+1))
		value := b.add(p.build(vy, depth+1))
		if !key.IsScalar() {
			if !p.listKeys {
				p.fail(ky, codeKey, "a key must be a plain value, not a list or a map")
				continue
			}
			if key.Text = key.inLine(maxKey); len(key.Text) >= maxKey {
				p.fail(ky, codeKey, fmt.Sprintf("a key that is a list or a map must be shorter than %d bytes", maxKey))
				continue
			}
		}
		if first := n.find(key.Text); first >= 0 {
			p.fail(ky, codeDuplicate, fmt.Sprintf("key %q is defined twice (first in line %d)", key.Text, lines[first]))
			continue
		}
		n.put(key, value)
		lines = append(lines, ky.Line)
	}
	for _, m := range merged { // explicit keys win, then those of the first merge
		if p.copied += len(m.Keys); p.copied > maxExpanded {
			p.fail(y, codeBomb, fmt.Sprintf("merges copy more than %d values", maxExpanded))
			return
		}
		for k, v := range m.Pairs() {
			if n.find(k.Text) < 0 {
				n.put(k, v)
			}
		}
	}
}

func (p *parser) merged(b *built, y *yaml.Node, depth int) []*Node {
	m := b.add(p.build(y, depth+1))
	if m.Kind == Map {
		return []*Node{m}
	}
	for _, item := range m.Items {
		if item.Kind != Map {
			p.fail(y, codeMerge, `"<<" merges maps only`)
			return nil
		}
	}
	if m.Kind != List {
		p.fail(y, codeMerge, `"<<" merges maps only`)
		return nil
	}
	return m.Items
}
