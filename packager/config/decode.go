package config

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

// File is a decoded toskose.yml that was not checked yet.
type File struct {
	cfg     Config
	decoded decoder // with the problems of syntax and types
}

// Parse decodes a toskose.yml strictly. Check returns its problems; file is the name in their messages.
func Parse(file string, data []byte) *File {
	f := &File{decoded: decoder{file: file, at: map[string]position{}, bad: map[string]bool{}}}
	if root := f.decoded.parse(data); root != nil {
		f.decoded.value(root, reflect.ValueOf(&f.cfg).Elem(), "")
	}
	return f
}

// Check returns the configuration, or all of its problems at once, as Problems. With a target it also checks the names of nodes
// and conflicts with the application, and moves all components into their nodes.
func (f *File) Check(target *Target) (Config, error) {
	d, cfg := f.decoded, f.cfg
	d.problems = slices.Clone(d.problems)
	d.check(cfg, target)
	if len(d.problems) > 0 {
		return Config{}, d.problems.sorted()
	}
	if target != nil {
		cfg.moveComponents(target)
		if d.checkRoom(cfg, target); len(d.problems) > 0 {
			return Config{}, d.problems.sorted()
		}
	}
	return cfg, nil
}

// position is the position of a value, counted from 1.
type position struct{ line, column int }

// decoder walks YAML nodes and Go values together, so that each problem has its position: yaml.v3
// reports only lines, and stops at a value of a wrong type.
type decoder struct {
	file     string
	at       map[string]position // by path: "nodes.backend.port"
	bad      map[string]bool     // paths without a usable value: null, or of a wrong type
	problems Problems
}

func (d *decoder) report(p position, format string, args ...any) {
	d.problems = append(d.problems, Problem{File: d.file, Line: p.line, Column: p.column, Message: fmt.Sprintf(format, args...)})
}

// reportAt reports a problem of the value at a path.
func (d *decoder) reportAt(path, format string, args ...any) {
	d.report(d.at[path], "%s: %s", path, fmt.Sprintf(format, args...))
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// parse returns the document's top node, or nil if the document is empty or invalid.
func (d *decoder) parse(data []byte) *yaml.Node {
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
			d.report(position{more.Line, more.Column}, "holds more than one YAML document")
			return nil
		}
	}
	p := position{1, 1}
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil && m[1] != "" {
		p.line, _ = strconv.Atoi(m[1])
	}
	d.report(p, "is not valid YAML: %s", yamlLine.ReplaceAllString(err.Error(), ""))
	return nil
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// value decodes one node into v; a null leaves v unchanged, so that it gets its default.
func (d *decoder) value(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	d.at[path] = position{n.Line, n.Column}
	if isNull(n) {
		d.bad[path] = true
		return
	}
	if f, ok := v.Addr().Interface().(*Fragment); ok {
		if d.wants(n, yaml.MappingNode, path, "a mapping") {
			*f = d.fragment(n, path)
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.structure(n, v, path)
	case reflect.Map:
		if d.wants(n, yaml.MappingNode, path, "a mapping") {
			d.entries(n, v, path)
		}
	case reflect.Slice:
		if d.wants(n, yaml.SequenceNode, path, "a list") {
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
		if d.wants(n, yaml.ScalarNode, path, "text") {
			v.SetString(n.Value)
		}
	}
}

// structure decodes a mapping, or a word that is allowed instead.
func (d *decoder) structure(n *yaml.Node, v reflect.Value, path string) {
	what := "a mapping"
	if w, ok := v.Addr().Interface().(interface{ setWord(word string) bool }); ok {
		if n.Kind == yaml.ScalarNode && w.setWord(n.Value) {
			return
		}
		what = "a mapping or none"
	}
	if d.wants(n, yaml.MappingNode, path, what) {
		d.fields(n, v, path)
	}
}

// scalar decodes a number or a boolean that has one of the given tags.
func (d *decoder) scalar(n *yaml.Node, v reflect.Value, path, what string, tags ...string) {
	if n.Kind == yaml.ScalarNode && slices.Contains(tags, n.ShortTag()) && n.Decode(v.Addr().Interface()) == nil {
		return
	}
	d.bad[path] = true
	d.reportAt(path, "must be %s, not %s", what, describe(n))
}

// items decodes a list; the path of an item ends with its index, from 0.
func (d *decoder) items(n *yaml.Node, v reflect.Value, path string) {
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		d.value(item, v.Index(i), join(path, strconv.Itoa(i)))
	}
}

func (d *decoder) wants(n *yaml.Node, kind yaml.Kind, path, what string) bool {
	if n.Kind == kind {
		return true
	}
	d.bad[path] = true
	if path == "" {
		d.report(d.at[path], "must be %s, not %s", what, describe(n))
	} else {
		d.reportAt(path, "must be %s, not %s", what, describe(n))
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

// pairs calls f for each key of a mapping. It reports duplicate keys and keys that are not text.
func (d *decoder) pairs(n *yaml.Node, path string, f func(key, value *yaml.Node)) {
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		p := position{key.Line, key.Column}
		if key.Kind != yaml.ScalarNode {
			d.report(p, "a key must be text, not %s", describe(key))
			continue
		}
		if seen[key.Value] {
			d.report(p, "%s: is set twice", join(path, key.Value))
			continue
		}
		seen[key.Value] = true
		f(key, n.Content[i+1])
	}
}

func (d *decoder) fields(n *yaml.Node, v reflect.Value, path string) {
	known := map[string]int{}
	for i := range v.NumField() {
		if name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ","); name != "-" {
			known[name] = i
		}
	}
	d.pairs(n, path, func(key, value *yaml.Node) {
		i, ok := known[key.Value]
		if !ok {
			d.report(position{key.Line, key.Column}, "%s: unknown key%s", join(path, key.Value), didYouMean(key.Value, keysOf(known)))
			return
		}
		d.value(value, v.Field(i), join(path, key.Value))
	})
}

func (d *decoder) entries(n *yaml.Node, v reflect.Value, path string) {
	v.Set(reflect.MakeMap(v.Type()))
	d.pairs(n, path, func(key, value *yaml.Node) {
		entry := reflect.New(v.Type().Elem()).Elem()
		at := join(path, key.Value)
		d.value(value, entry, at)
		d.at[at] = position{key.Line, key.Column}
		v.SetMapIndex(reflect.ValueOf(key.Value), entry)
	})
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
