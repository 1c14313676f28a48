package resolve

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

// input is a topology input with its value.
type input struct {
	*grammar.Property
	def   *data.Definition
	value *source.Node // nil: none, and either said so or not required
	size  int          // values in it
	bad   bool         // said so
	open  bool         // a draft lacks its value
}

// readInputs gives each declared input the user's value, else its default, and
// checks it.
func (s *Service) readInputs() {
	given, file := s.opts.Inputs, s.inputFile(s.opts.File)
	s.inputs = map[string]*input{}
	for _, p := range s.Topo.Inputs {
		in := &input{Property: p, def: data.From(p, s.Doc)}
		s.inputs[p.Name] = in
		of := "input " + quote(p.Name)
		at := data.Place{Of: of, Doc: s.Doc}
		declared := *in.def
		declared.Default, declared.Value = nil, nil // said below, where they are used
		in.bad = !s.eval.Declare(&declared, at)
		in.value = p.Default
		if p.Value != nil {
			in.value = p.Value
		}
		if v := file.Get(p.Name); v != nil {
			in.value = v
			s.keepSecret(p.Name, v)
		}
		if v, ok := given[p.Name]; ok {
			in.value = s.given(in, v)
			s.keepSecret(p.Name, in.value)
		}
		s.settle(in, at)
	}
	for k := range file.Pairs() {
		s.knownInput(k.Pos(), k.Text)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		s.knownInput(onCommandLine(name), name)
	}
}

// settle evaluates an input's value and checks it.
func (s *Service) settle(in *input, at data.Place) {
	switch {
	case in.bad:
	case !in.value.IsNull():
		at.Meant = in.def
		v := s.eval.Eval(in.value, at)
		at.Default = in.value == in.Default && !second(s.Doc)
		in.value, in.size = v.Node, v.Size
		in.bad = !v.OK || !s.eval.CheckValue(v, in.def, at)
		if !in.bad {
			in.value, in.size = s.eval.Meant(v.Node, in.def), count(v.Node)
		}
	case in.Required && (in.value == nil || s.eval.Plain(in.def) != "nil"):
		in.open = true
		in.bad = !s.opts.Draft
		s.lacksValue(in, at.Of)
	}
}

// lacksValue says that a required input has no value, unless a file may have it that
// cannot be read.
func (s *Service) lacksValue(in *input, of string) {
	switch {
	case in.value != nil && in.value != in.Default:
		s.Incomplete(in.value.Pos(), codeInputMissing, "%s is required, and null is no value", of)
	case !s.unread:
		s.Incomplete(in.Pos, codeInputMissing, "%s is required, and has neither a value nor a default", of)
	}
}

// count gives how many values there are in one.
func count(n *source.Node) int {
	size := 1
	if n != nil {
		for _, item := range n.Items {
			size += count(item)
		}
	}
	return size
}

// inputNames lists the inputs of the topology, as long as one of them may be
// suggested.
func (s *Service) inputNames() []string {
	if !s.Suggesting() {
		return nil
	}
	names := make([]string, 0, len(s.Topo.Inputs))
	for _, p := range s.Topo.Inputs {
		names = append(names, p.Name)
	}
	return names
}

// Inputs lists the inputs of the topology, as long as one of them may be
// suggested.
func (s *Service) Inputs() []string { return s.inputNames() }

func (s *Service) knownInput(at diag.Position, name string) {
	if s.inputs[name] == nil {
		s.Unknown(at, codeInputUnknown, name, s.inputNames(), "the topology has no input %q", name)
	}
}

// onCommandLine is where an input stands that came from there.
func onCommandLine(name string) diag.Position { return diag.Position{File: "--input " + name} }

// inputFile reads a file of inputs; nil where there is none, or none to be read.
func (s *Service) inputFile(f *InputFile) *source.Node {
	if f == nil {
		return nil
	}
	data := f.Data
	if json.Valid(data) {
		data = jsonAsYAML(data)
	}
	root, bad := source.Parse(f.Name, data)
	if len(bad) > 0 {
		s.unread = true
		s.Add(withoutQuotes(bad)...)
		return nil
	}
	if !root.IsNull() && root.Kind != source.Map {
		s.unread = true
		s.Errorf(root.Pos(), codeInputValue, "a file of inputs must be a map of names and values, not a %s", root.Kind)
		return nil
	}
	return root
}

// jsonAsYAML rewrites what is valid JSON and not what the YAML parser reads:
// tabs between values, escaped slashes, and characters as surrogate pairs.
// Everything stays in its line.
func jsonAsYAML(data []byte) []byte {
	made := make([]byte, 0, len(data))
	for i := 0; i < len(data); i++ {
		switch {
		case data[i] == '\t': // within a string it would be escaped
			made = append(made, ' ')
		case data[i] != '\\':
			made = append(made, data[i])
		case data[i+1] == '/':
			i++
			made = append(made, '/')
		case data[i+1] == 'u' && len(data) > i+12 && data[i+6] == '\\' && data[i+7] == 'u' && surrogates(data[i+2:i+12]) != unicode.ReplacementChar:
			made = utf8.AppendRune(made, surrogates(data[i+2:i+12]))
			i += 11
		default:
			i++
			made = append(made, '\\', data[i])
		}
	}
	return made
}

// surrogates reads the character of "D83D\uDE00".
func surrogates(text []byte) rune {
	high, err := strconv.ParseUint(string(text[:4]), 16, 16)
	low, err2 := strconv.ParseUint(string(text[6:10]), 16, 16)
	if err != nil || err2 != nil {
		return unicode.ReplacementChar
	}
	return utf16.DecodeRune(rune(high), rune(low))
}

// given makes a value of what the user gave. A string is what a command line
// can give: where the type is another, it is read as YAML.
func (s *Service) given(in *input, v any) *source.Node {
	at := onCommandLine(in.Name)
	n, err := data.FromAny(v, source.Outside(at.File))
	if err != nil {
		in.bad = true
		s.Errorf(at, codeInputValue, "input %q cannot have this value: %v", in.Name, err)
		return nil
	}
	plain := s.eval.Plain(in.def)
	text, isText := v.(string)
	if !isText || plain == "" || plain == "string" {
		return n
	}
	parsed, bad := source.ParseOutside(at.File, []byte(strings.TrimSpace(text)))
	if len(bad) == 0 {
		return parsed
	}
	if plain != "list" && plain != "map" && plain != "range" || strings.TrimSpace(text) == "" {
		return n // said where it is checked
	}
	in.bad = true
	s.Errorf(at, codeInputValue, "input %q must be a %s, written in YAML: %s", in.Name, plain, strings.TrimPrefix(withoutQuotes(bad)[0].Message, "not YAML: "))
	return nil
}

// InputValue is a topology input with its value.
type InputValue struct {
	*grammar.Property
	Value *source.Node // nil: none
}

// InputValues gives the inputs of the topology with their values, by name.
func (s *Service) InputValues() []InputValue {
	var all []InputValue
	for _, name := range slices.Sorted(maps.Keys(s.inputs)) {
		all = append(all, InputValue{s.inputs[name].Property, s.inputs[name].value})
	}
	return all
}
