package resolve

import (
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/data"
	"github.com/toskose/toskose/tosca/internal/grammar"
	"github.com/toskose/toskose/tosca/internal/source"
)

// inputReader reads the values of the topology's inputs.
type inputReader struct {
	*Graph
	unread bool // the file of inputs cannot be read
}

// Input is a topology input with its value.
type Input struct {
	*grammar.Property
	Def    *data.Definition
	value  *source.Node // nil if missing
	size   int          // number of values in it
	bad    bool         // invalid (already reported)
	open   bool         // missing, in a draft
	secret bool         // the user's value is a secret
}

// readInputs sets and checks each declared input: the user's value, or else the default.
func (r *inputReader) readInputs() {
	userValue, file := r.opts.Inputs, r.inputFile(r.opts.File)
	r.InputByName = map[string]*Input{}
	for _, p := range r.Topo.Inputs {
		in := &Input{Property: p, Def: data.From(p, r.Doc)}
		r.InputByName[p.Name] = in
		of := "input " + quote(p.Name)
		at := data.Place{Of: of, Doc: r.Doc}
		declared := *in.Def
		declared.Default, declared.Value = nil, nil // reported below, where they are used
		in.bad = !r.Values.Declare(&declared, at)
		in.value = p.Default
		if p.Value != nil {
			in.value = p.Value
		}
		if v := file.Get(p.Name); v != nil {
			in.value = v
			in.secret = r.keepSecret(p.Name, v, false)
		}
		if v, ok := userValue[p.Name]; ok {
			text, isSecret := v.(Secret)
			if isSecret {
				v = string(text)
				r.hide(string(text)) // before any report about it
			}
			in.value = r.userValue(in, v)
			in.secret = r.keepSecret(p.Name, in.value, isSecret) || isSecret
		}
		r.evaluate(in, at)
		if in.secret && r.opts.Withhold {
			in.value, in.open = nil, true
		}
	}
	for k := range file.Pairs() {
		r.knownInput(k.Pos(), k.Text)
	}
	for _, name := range slices.Sorted(maps.Keys(userValue)) {
		r.knownInput(onCommandLine(name), name)
	}
}

// evaluate evaluates and checks an input.
func (r *inputReader) evaluate(in *Input, at data.Place) {
	switch {
	case in.bad:
	case !in.value.IsNull():
		at.Want = in.Def
		v := r.Values.Eval(in.value, at)
		in.value, in.size = v.Node, v.Size
		in.bad = !v.OK || !r.Values.CheckValue(v, in.Def, at)
		if !in.bad {
			in.value, in.size = r.Values.Convert(v.Node, in.Def), count(v.Node)
		}
	case in.Required && (in.value == nil || r.Values.Plain(in.Def) != "nil"):
		in.open = true
		in.bad = !r.opts.Draft
		r.reportMissing(in, at.Of)
	}
}

// reportMissing reports a required input without a value, unless the file of inputs
// cannot be read.
func (r *inputReader) reportMissing(in *Input, of string) {
	switch {
	case in.value != nil && in.value != in.Default:
		r.Incomplete(in.value.Pos(), code.InputMissing, "%s is required, and null is not a value", of)
	case !r.unread:
		r.Incomplete(in.Pos, code.InputMissing, "%s is required, and has neither a value nor a default: give it one with -i %s=VALUE or --inputs FILE", of, in.Name)
	}
}

// count returns the number of values in a value.
func count(n *source.Node) int {
	size := 1
	if n != nil {
		for _, item := range n.Items {
			size += count(item)
		}
	}
	return size
}

// inputNames lists the inputs of the topology while suggestions are still made.
func (g *Graph) inputNames() []string {
	if !g.Suggesting() {
		return nil
	}
	names := make([]string, 0, len(g.Topo.Inputs))
	for _, p := range g.Topo.Inputs {
		names = append(names, p.Name)
	}
	return names
}

// Inputs lists the inputs of the topology while suggestions are still made.
func (g *Graph) Inputs() []string { return g.inputNames() }

func (r *inputReader) knownInput(at diag.Position, name string) {
	if r.InputByName[name] == nil {
		r.Unknown(at, code.InputUnknown, name, r.inputNames(), "the topology has no input %q", name)
	}
}

// onCommandLine returns the position of an input of the command line.
func onCommandLine(name string) diag.Position { return diag.Position{File: "--input " + name} }

// inputFile reads a file of inputs, or returns nil.
func (r *inputReader) inputFile(f *InputFile) *source.Node {
	if f == nil {
		return nil
	}
	data := f.Data
	if json.Valid(data) {
		data = jsonAsYAML(data)
	}
	root, bad := source.Parse(f.Name, data)
	if len(bad) > 0 {
		r.unread = true
		r.Add(withoutQuotes(bad)...)
		return nil
	}
	if !root.IsNull() && root.Kind != source.Map {
		r.unread = true
		r.Errorf(root.Pos(), code.InputValue, "a file of inputs must be a map of names and values, not a %s", root.Kind)
		return nil
	}
	return root
}

// jsonAsYAML rewrites JSON that the YAML parser does not read: tabs between values,
// escaped slashes, and surrogate pairs. Lines stay the same.
func jsonAsYAML(data []byte) []byte {
	made := make([]byte, 0, len(data))
	for i := 0; i < len(data); i++ {
		switch {
		case data[i] == '\t': // it is escaped within strings
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

// surrogates decodes a pair such as "D83D\uDE00".
func surrogates(text []byte) rune {
	high, err := strconv.ParseUint(string(text[:4]), 16, 16)
	low, err2 := strconv.ParseUint(string(text[6:10]), 16, 16)
	if err != nil || err2 != nil {
		return unicode.ReplacementChar
	}
	return utf16.DecodeRune(rune(high), rune(low))
}

// userValue converts a value of the user. A string is read as YAML if the input has
// another type, as on a command line.
func (r *inputReader) userValue(in *Input, v any) *source.Node {
	at := onCommandLine(in.Name)
	n, err := data.FromAny(v, source.Outside(at.File))
	if err != nil {
		in.bad = true
		r.Errorf(at, code.InputValue, "input %q cannot have this value: %v", in.Name, err)
		return nil
	}
	plain := r.Values.Plain(in.Def)
	text, isText := v.(string)
	if !isText || plain == "" || plain == "string" {
		return n
	}
	parsed, bad := source.ParseOutside(at.File, []byte(strings.TrimSpace(text)))
	if len(bad) == 0 {
		return parsed
	}
	if plain != "list" && plain != "map" && plain != "range" || strings.TrimSpace(text) == "" {
		return n // reported by the check
	}
	in.bad = true
	r.Errorf(at, code.InputValue, "input %q must be a %s, written in YAML: %s", in.Name, plain, strings.TrimPrefix(withoutQuotes(bad)[0].Message, "not YAML: "))
	return nil
}

// InputValue is a topology input with its value.
type InputValue struct {
	*grammar.Property
	Value  *source.Node // nil if missing
	Secret bool         // the user's value is secret
}

// InputValues returns the inputs of the topology with their values, by name.
func (g *Graph) InputValues() []InputValue {
	var all []InputValue
	for _, name := range slices.Sorted(maps.Keys(g.InputByName)) {
		all = append(all, InputValue{g.InputByName[name].Property, g.InputByName[name].value, g.InputByName[name].secret})
	}
	return all
}

// secretName matches names of secrets.
var secretName = regexp.MustCompile(`(?i)pass(word|wd|phrase)|secret|token|credential|(api|private|access)[-_.]?key|(\b|_)(pass|pw)\b`)

// HasSecrets reports whether a name in the file is that of a secret. Then no line of the
// file may be shown. It does not search large files, and reports true for them.
func (f *InputFile) HasSecrets() bool { return len(f.Data) > maxLooked || secretName.Match(f.Data) }

// hidden replaces a secret in messages.
const hidden = "…"

const (
	longSecret = 4       // characters of a secret that is hidden within words, too
	maxLooked  = 1 << 20 // bytes
	maxSecret  = 1 << 12 // bytes of a secret to search for; messages are shorter
	maxSecrets = 100     // searched for
	maxShown   = 80      // characters of a value in a message
)

// Secret is the value of an input that is never shown, whatever its name.
type Secret string

// keepSecret remembers secrets in the user's value of an input: a Secret, or a value
// whose name matches secretName. It reports whether there is any.
func (r *inputReader) keepSecret(name string, v *source.Node, secret bool) bool {
	if v == nil {
		return false
	}
	secret = secret || secretName.MatchString(name)
	found := secret
	if v.IsScalar() && !v.IsNull() && secret {
		r.hide(v.Text)
	}
	for i, item := range v.Items {
		of := name
		if v.Kind == source.Map && !secret {
			of = v.Keys[i].Text
		}
		found = r.keepSecret(of, item, secret) || found
	}
	return found
}

// hide hides a text in all messages.
func (r *inputReader) hide(text string) {
	if text != "" && len(r.secrets) < maxSecrets {
		r.secrets = append(r.secrets, text[:min(len(text), maxSecret)])
	}
}

// List returns all diagnostics without the user's secrets.
func (g *Graph) List() diag.List {
	list := g.Collector.List()
	if len(g.secrets) == 0 {
		return list
	}
	whole, words := secretTexts(g.secrets)
	for i := range list {
		list[i].Message = words.ReplaceAllString(whole.ReplaceAllString(list[i].Message, hidden), "${1}"+hidden+"${2}")
	}
	return list
}

// secretTexts returns expressions that match secrets in messages: quoted, escaped or cut
// off; short ones as whole words only.
func secretTexts(secrets []string) (whole, words *regexp.Regexp) {
	long, short := []string{"$^"}, []string{"$^"} // matches nothing
	for _, secret := range secrets {
		quoted := quote(secret)
		inner := quoted[1 : len(quoted)-1]
		switch {
		case len(secret) < longSecret:
			short = append(short, regexp.QuoteMeta(inner))
			continue
		case len(quoted) > maxShown:
			long = append(long, regexp.QuoteMeta(strings.ToValidUTF8(quoted[1:maxShown], "")))
		}
		long = append(long, regexp.QuoteMeta(inner), regexp.QuoteMeta(strings.ToValidUTF8(secret, "")))
	}
	for _, texts := range [][]string{long, short} {
		slices.SortFunc(texts, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	}
	return regexp.MustCompile(strings.Join(long, "|")), regexp.MustCompile(`(^|[^\pL\pN_])(?:` + strings.Join(short, "|") + `)($|[^\pL\pN_])`)
}

// withoutQuotes removes quoted text from YAML errors in the user's values: an anchor,
// alias or tag may be a password without quotes. It keeps keys.
func withoutQuotes(list diag.List) diag.List {
	list = slices.Clone(list)
	for i := range list {
		list[i].Message = aliasOrTag.ReplaceAllString(list[i].Message, `${1} `+hidden)
	}
	return list
}

var aliasOrTag = regexp.MustCompile(`\b(anchor|tag|alias) ('[^']*'|"[^"]*")`)
