package located

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Position is the position of a value, counted from 1.
type Position struct{ Line, Column int }

// Decoder walks YAML nodes and Go values together, so that each problem has its position: yaml.v3
// reports only lines, and stops at a value of a wrong type.
type Decoder struct {
	File     string
	At       map[string]Position // by path: "nodes.backend.port"
	Bad      map[string]bool     // paths without a usable value: null, or of a wrong type
	Problems Problems
}

// Decode decodes a document into a struct, whose fields have tags of yaml.v3. The file is the name in messages. The result has the
// problems of syntax and types, and the positions of values for further checks.
func Decode(file string, data []byte, into any) Decoder {
	d := Decoder{File: file, At: map[string]Position{}, Bad: map[string]bool{}}
	if root := d.parse(data); root != nil {
		d.value(root, reflect.ValueOf(into).Elem(), "")
	}
	return d
}

// NodeDecoder is a type that decodes its own mapping.
type NodeDecoder interface {
	DecodeNode(d *Decoder, n *yaml.Node, path string)
}

// WordSetter is a struct that a document may replace by a word. SetWord reports whether the word is allowed.
type WordSetter interface{ SetWord(word string) bool }

// Report reports a problem at a position.
func (d *Decoder) Report(p Position, format string, args ...any) {
	d.Problems = append(d.Problems, Problem{File: d.File, Line: p.Line, Column: p.Column, Message: fmt.Sprintf(format, args...)})
}

// ReportAt reports a problem of the value at a path.
func (d *Decoder) ReportAt(path, format string, args ...any) {
	d.Report(d.At[path], "%s: %s", path, fmt.Sprintf(format, args...))
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// parse returns the document's top node, or nil if the document is empty or invalid.
func (d *Decoder) parse(data []byte) *yaml.Node {
	var doc, more yaml.Node
	dec := yaml.NewDecoder(strings.NewReader(string(data)))
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil {
		if err = dec.Decode(&more); errors.Is(err, io.EOF) {
			return doc.Content[0]
		}
		if err == nil {
			d.Report(Position{Line: more.Line, Column: more.Column}, "holds more than one YAML document")
			return nil
		}
	}
	p := Position{Line: 1, Column: 1}
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil && m[1] != "" {
		p.Line, _ = strconv.Atoi(m[1])
	}
	d.Report(p, "is not valid YAML: %s", yamlLine.ReplaceAllString(err.Error(), ""))
	return nil
}

// IsNull reports whether a node is null.
func IsNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// value decodes one node into v; a null leaves v unchanged, so that it gets its default.
func (d *Decoder) value(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	d.At[path] = Position{Line: n.Line, Column: n.Column}
	if IsNull(n) {
		d.Bad[path] = true
		return
	}
	if own, ok := v.Addr().Interface().(NodeDecoder); ok {
		if d.Wants(n, yaml.MappingNode, path, "a mapping") {
			own.DecodeNode(d, n, path)
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.structure(n, v, path)
	case reflect.Map:
		if d.Wants(n, yaml.MappingNode, path, "a mapping") {
			d.entries(n, v, path)
		}
	case reflect.Slice:
		if d.Wants(n, yaml.SequenceNode, path, "a list") {
			d.items(n, v, path)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.value(n, v.Elem(), path)
	case reflect.Bool:
		d.scalar(n, v, path, "true or false", "!!bool")
	case reflect.Int:
		d.scalar(n, v, path, "a whole number", "!!int")
	case reflect.Float64:
		d.scalar(n, v, path, "a number", "!!int", "!!float")
	default:
		if d.Wants(n, yaml.ScalarNode, path, "text") {
			v.SetString(n.Value)
		}
	}
}

// structure decodes a mapping, or a word that is allowed instead.
func (d *Decoder) structure(n *yaml.Node, v reflect.Value, path string) {
	what := "a mapping"
	if w, ok := v.Addr().Interface().(WordSetter); ok {
		if n.Kind == yaml.ScalarNode && w.SetWord(n.Value) {
			return
		}
		what = "a mapping or none"
	}
	if d.Wants(n, yaml.MappingNode, path, what) {
		d.fields(n, v, path)
	}
}

// scalar decodes a number or a boolean that has one of the given tags.
func (d *Decoder) scalar(n *yaml.Node, v reflect.Value, path, what string, tags ...string) {
	if n.Kind == yaml.ScalarNode && slices.Contains(tags, n.ShortTag()) && n.Decode(v.Addr().Interface()) == nil {
		return
	}
	d.Bad[path] = true
	d.ReportAt(path, "must be %s, not %s", what, describe(n))
}

// items decodes a list; the path of an item ends with its index, from 0.
func (d *Decoder) items(n *yaml.Node, v reflect.Value, path string) {
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		d.value(item, v.Index(i), Join(path, strconv.Itoa(i)))
	}
}

// Wants reports whether a node has a kind, and reports a problem otherwise.
func (d *Decoder) Wants(n *yaml.Node, kind yaml.Kind, path, what string) bool {
	if n.Kind == kind {
		return true
	}
	d.Bad[path] = true
	if path == "" {
		d.Report(d.At[path], "must be %s, not %s", what, describe(n))
	} else {
		d.ReportAt(path, "must be %s, not %s", what, describe(n))
	}
	return false
}

// describe names a node in messages. It omits a value that is long or may be a password.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	default:
		if n.ShortTag() == "!!str" {
			return "text"
		}
		return "the value " + n.Value
	}
}

// Pairs calls f for each key of a mapping. It reports duplicate keys and keys that are not text.
func (d *Decoder) Pairs(n *yaml.Node, path string, f func(key, value *yaml.Node)) {
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		p := Position{Line: key.Line, Column: key.Column}
		if key.Kind != yaml.ScalarNode {
			d.Report(p, "a key must be text, not %s", describe(key))
			continue
		}
		if seen[key.Value] {
			d.Report(p, "%s: is set twice", Join(path, key.Value))
			continue
		}
		seen[key.Value] = true
		f(key, n.Content[i+1])
	}
}

func (d *Decoder) fields(n *yaml.Node, v reflect.Value, path string) {
	known := map[string]int{}
	for i := range v.NumField() {
		if name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ","); name != "-" && v.Type().Field(i).IsExported() {
			known[name] = i
		}
	}
	d.Pairs(n, path, func(key, value *yaml.Node) {
		i, ok := known[key.Value]
		if !ok {
			d.Report(Position{Line: key.Line, Column: key.Column}, "%s: unknown key%s", Join(path, key.Value), DidYouMean(key.Value, Keys(known)))
			return
		}
		d.value(value, v.Field(i), Join(path, key.Value))
	})
}

func (d *Decoder) entries(n *yaml.Node, v reflect.Value, path string) {
	v.Set(reflect.MakeMap(v.Type()))
	d.Pairs(n, path, func(key, value *yaml.Node) {
		entry := reflect.New(v.Type().Elem()).Elem()
		at := Join(path, key.Value)
		d.value(value, entry, at)
		d.At[at] = Position{Line: key.Line, Column: key.Column}
		v.SetMapIndex(reflect.ValueOf(key.Value), entry)
	})
}

// Join appends a key to a path.
func Join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
