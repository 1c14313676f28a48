package grammar

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/toskose/toskose/tosca/diag"
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/source"
)

// reader reads the values of one document.
type reader struct {
	*diag.Collector
	doc     *Document
	assigns bool // within a template, where inputs are values, not definitions
	inType  bool // within a type
	refines bool // within a refinement, where a schema of 2.0 may inherit its type
}

// field is a keyword with the function that reads its value, and the versions that have
// it.
type field struct {
	key  string
	read func(*source.Node)
	in   in
}

// ignored reads values without effect.
func ignored(*source.Node) {}

// fields reads a map by its keywords; of names the subject, as in `node
// template "api"`.
func (r *reader) fields(n *source.Node, of string, known []field) {
	if n.IsNull() {
		return
	}
	if n.Kind != source.Map {
		r.Errorf(n.Pos(), code.Shape, "%s must be a map, not %s", of, aKind(n.Kind))
		return
	}
	var recovered map[string]bool
keys:
	for k, v := range n.Pairs() {
		for _, f := range known {
			if f.key == k.Text {
				if r.isValidKeyword(k, f.in, of) {
					f.read(v)
				}
				continue keys
			}
		}
		if r.common(k, v, of) {
			continue
		}
		meant := r.unknownKeyword(k, of, known)
		for _, f := range known {
			if f.key == meant && n.Get(meant) == nil && !recovered[meant] {
				if recovered == nil {
					recovered = map[string]bool{}
				}
				recovered[meant] = true
				f.read(v)
			}
		}
	}
}

// unknownKeyword reports an unknown keyword. It returns the keyword that it is a clear
// misspelling of, or an empty string. The caller reads the value as that of the keyword,
// so that all errors are reported at once.
func (r *reader) unknownKeyword(k *source.Node, of string, known []field) string {
	var names []string
	for _, f := range known {
		if f.in == everyVersion || f.in == second == r.doc.V2() {
			names = append(names, strings.Clone(f.key)) // else suggestions would keep the table of keywords alive
		}
	}
	return r.Unknown(k.Pos(), code.Keyword, k.Text, append(names, "description", "metadata"), "%s: unknown keyword %q", of, k.Text)
}

// missing reports a missing keyword. It reports nothing if the keyword has an invalid
// value, or n is not a map, as that is already reported.
func (r *reader) missing(n *source.Node, at diag.Position, key, of string) {
	if n.IsNull() || n.Kind == source.Map && n.Get(key).IsNull() {
		r.Errorf(at, code.Untyped, "%s has no %s", of, key)
	}
}

// common reads the keywords that all definitions have (TOSCA 2.0, 5.3).
func (r *reader) common(k, v *source.Node, of string) bool {
	switch k.Text {
	case "description":
		r.text(v, of+": description")
	case "metadata":
		r.texts(v, of+": metadata")
	default:
		return false
	}
	return true
}

// refining wraps a function that reads definitions which may refine inherited ones.
func (r *reader) refining(read func(*source.Node)) func(*source.Node) {
	return func(n *source.Node) {
		r.refines = true
		read(n)
		r.refines = false
	}
}

// texts checks a map of strings, such as metadata (TOSCA 1.3, 3.6.2). In 2.0 the values
// may be of any type (TOSCA 2.0, 5.3.1). Maps in types of 1.x are common, so they are a
// warning.
func (r *reader) texts(n *source.Node, of string) {
	r.byName(n, of, func(k, v *source.Node) {
		switch {
		case r.doc.V2():
		case !v.IsNull() && v.Kind == source.Map && r.inType:
			r.Warnf(v.Pos(), code.Shape, "%s: %s is %s, and of metadata a string", of, k.Text, aKind(v.Kind))
		default:
			r.text(v, of+": "+k.Text)
		}
	})
}

func aKind(k source.Kind) string {
	switch k {
	case source.Int:
		return "an integer"
	case source.Null:
		return "empty"
	default:
		return "a " + k.String()
	}
}

// byName walks a map of definitions by name.
func (r *reader) byName(n *source.Node, of string, each func(key, value *source.Node)) {
	if n.IsNull() {
		return
	}
	if n.Kind != source.Map {
		r.Errorf(n.Pos(), code.Shape, "%s must be a map of names, not %s", of, aKind(n.Kind))
		return
	}
	for k, v := range n.Pairs() {
		each(k, v)
	}
}

// items walks a list.
func (r *reader) items(n *source.Node, of string, each func(*source.Node)) {
	if n.IsNull() {
		return
	}
	if n.Kind != source.List {
		r.Errorf(n.Pos(), code.Shape, "%s must be a list, not %s", of, aKind(n.Kind))
		return
	}
	for _, item := range n.Items {
		each(item)
	}
}

// entries walks a list of maps with one key each. Documents of 1.x may have a map
// replacements.
func (r *reader) entries(n *source.Node, of string, each func(key, value *source.Node)) {
	r.entriesOrAlone(n, of, each, func(item *source.Node) {
		r.Errorf(item.Pos(), code.Shape, "%s: each entry must be one name and its value", of)
	})
}

// entriesOrAlone is entries for a list that may have scalars, too.
func (r *reader) entriesOrAlone(n *source.Node, of string, each func(key, value *source.Node), alone func(*source.Node)) {
	if !n.IsNull() && n.Kind == source.Map && !r.doc.V2() {
		r.byName(n, of, each)
		return
	}
	r.items(n, of, func(item *source.Node) {
		switch {
		case !item.IsNull() && item.Kind == source.Map && len(item.Keys) == 1:
			each(item.Keys[0], item.Items[0])
		case !item.IsNull() && item.IsScalar():
			alone(item)
		default:
			r.Errorf(item.Pos(), code.Shape, "%s: each entry must be one name and its value", of)
		}
	})
}

// definitions walks a map of definitions by name. Documents of 1.x may have a list of
// maps with one key each instead.
func (r *reader) definitions(n *source.Node, of string, each func(key, value *source.Node)) {
	if r.doc.V2() {
		r.byName(n, of, each)
		return
	}
	r.entries(n, of, each)
}

// text reads a string. Up to 1.3 a number may stand for a name; in 2.0 it needs quotes
// (TOSCA 2.0, 9.1.1.1). The parts of the subject are joined for messages only.
func (r *reader) text(n *source.Node, of ...string) string {
	switch {
	case n.IsNull():
		return ""
	case !n.IsScalar():
		r.Errorf(n.Pos(), code.Shape, "%s must be a string, not %s", strings.Join(of, ""), aKind(n.Kind))
		return ""
	case n.Kind != source.String && r.doc.V2():
		r.Errorf(n.Pos(), code.Shape, "%s must be a string, not %s: put %s in quotes", strings.Join(of, ""), aKind(n.Kind), n.Text)
	}
	return n.Text
}

// ref reads a name with its position.
func (r *reader) ref(n *source.Node, of ...string) Ref {
	return Ref{Name: r.text(n, of...), Pos: n.Pos()}
}

func (r *reader) setText(to *string, of ...string) func(*source.Node) {
	return func(n *source.Node) { *to = r.text(n, of...) }
}

func (r *reader) setRef(to *Ref, of ...string) func(*source.Node) {
	return func(n *source.Node) { *to = r.ref(n, of...) }
}

// isCall reports whether a value is a function call of 2.0.
func (r *reader) isCall(n *source.Node) bool {
	return r.doc.V2() && n != nil && n.Kind == source.Map && len(n.Keys) == 1 &&
		strings.HasPrefix(n.Keys[0].Text, "$") && !strings.HasPrefix(n.Keys[0].Text, "$$")
}

// setComputed is setRef for a value that a function may compute (TOSCA 2.0, 10.1).
func (r *reader) setComputed(to *Ref, computed *[]*source.Node, of ...string) func(*source.Node) {
	return func(n *source.Node) {
		if r.isCall(n) {
			*computed = append(*computed, n)
			return
		}
		*to = r.ref(n, of...)
	}
}

func (r *reader) setBool(to *bool, of string) func(*source.Node) {
	return func(n *source.Node) {
		value, ok := n.Word()
		if !ok || r.doc.V2() && (n.Kind != source.Bool || n.Text != "true" && n.Text != "false") {
			r.Errorf(n.Pos(), code.Shape, "%s must be true or false", of)
			return
		}
		*to = value
	}
}

// setRefs reads a list of names. Up to 1.3 a single name may stand for a list.
func (r *reader) setRefs(to *[]Ref, parts ...string) func(*source.Node) {
	return func(n *source.Node) {
		of := strings.Join(parts, "")
		if !n.IsNull() && n.IsScalar() && r.doc.V2() {
			r.Errorf(n.Pos(), code.Shape, "%s must be a list of names, not %s", of, aKind(n.Kind))
		}
		*to = r.refs(n, of)
	}
}

// setNode keeps a value as it is written.
func setNode(to **source.Node) func(*source.Node) { return func(n *source.Node) { *to = n } }

func (r *reader) setAssignments(to **source.Node, of ...string) func(*source.Node) {
	return func(n *source.Node) { *to = r.assignments(n, of...) }
}

// setMap is setAssignments, but keeps only maps.
func (r *reader) setMap(to **source.Node, of string) func(*source.Node) {
	return func(n *source.Node) {
		if n = r.assignments(n, of); !n.IsNull() && n.Kind == source.Map {
			*to = n
		}
	}
}

// assignments returns a map of values by name. It reports other values, and returns an
// empty string for them, as it is unknown which assignments are missing.
func (r *reader) assignments(n *source.Node, of ...string) *source.Node {
	if n.IsNull() {
		return nil
	}
	if n.Kind != source.Map {
		r.Errorf(n.Pos(), code.Shape, "%s must be a map of names, not %s", strings.Join(of, ""), aKind(n.Kind))
		return source.Scalar(source.String, "", n)
	}
	return n
}

func (r *reader) setInt(to *int, of string) func(*source.Node) {
	return func(n *source.Node) {
		value, err := strconv.Atoi(n.Text)
		if n.Kind != source.Int || err != nil || value < 0 {
			r.Errorf(n.Pos(), code.Shape, "%s must be an integer of at least 0", of)
			return
		}
		*to = value
	}
}

// refs reads a list of names, or a single name.
func (r *reader) refs(n *source.Node, of string) []Ref {
	if !n.IsNull() && n.IsScalar() {
		return []Ref{r.ref(n, of)}
	}
	var all []Ref
	r.items(n, of, func(item *source.Node) {
		of := fmt.Sprintf("an entry of %s", of)
		if item.IsNull() && r.doc.V2() {
			r.Errorf(item.Pos(), code.Shape, "%s must be a string, not null", of)
			return
		}
		all = append(all, r.ref(item, of))
	})
	return all
}
