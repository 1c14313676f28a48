package data

import (
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/toskose/toskose/internal/suggest"
	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/source"
)

// Check reports whether an evaluated value fits a definition, and adds a diagnostic if
// not. Null always fits, as it means no value. A value of run time fits if its known
// type does. p.Of names the subject; validation clauses are evaluated at p.
func (e *Evaluator) Check(n *source.Node, d *Definition, p Place) bool {
	if d == nil || n.IsNull() {
		return true
	}
	t := e.Type(d)
	if t == nil {
		return true // reported where the type is named
	}
	ok := e.checkType(n, t, p)
	for at := d; ok && at != nil; at = at.Refines {
		ok = e.constrain(n, t, at.Schema.Constraints, p) && e.validate(n, d, at.Schema.Validation, at.Doc, p)
		if at.Schema.Entry != nil || at.Schema.Key != nil {
			ok = ok && e.checkEntries(n, at.nested(at.Schema.Key), at.nested(at.Schema.Entry), p)
		}
	}
	return ok
}

// checkType checks a value against a type.
func (e *Evaluator) checkType(n *source.Node, t *Type, p Place) bool {
	if n.Kind == source.Later {
		return e.checkLater(n, t, p)
	}
	if !e.spend(1 + len(n.Text)/16) {
		return false
	}
	if t.plain != "" {
		if why := e.fits(n, t); why != "" {
			e.reportMisfit(n, p, why)
			return false
		}
		if t.scalar != nil && !e.checkNumber(n, t, p) {
			return false
		}
	}
	if len(t.fields) > 0 && !e.checkFields(n, t, p) || t.isPortSpec() && !e.checkPorts(n, p) {
		return false
	}
	if (t.plain == tList || t.plain == tMap) && !e.checkEntries(n, t.key, t.entry, p) {
		return false
	}
	for _, at := range t.chain {
		if !e.constrain(n, t, at.Constraints, p) || at.Validation != nil && !e.validate(n, t.definition(), at.Validation, at.Doc, p) {
			return false
		}
	}
	return e.checkFormat(n, t, p)
}

// reportMisfit reports a value of the wrong type. A map of one key may be a misspelt function.
func (e *Evaluator) reportMisfit(n *source.Node, p Place, want string) {
	if n.Kind == source.Map && len(n.Keys) == 1 && e.quiet == 0 && e.Suggesting() {
		known := functionNames(p.Doc)
		if near := suggest.Nearest(n.Keys[0].Text, known); e.spend(len(known)) && near != "" {
			e.unknown(n.Pos(), code.ValueType, n.Keys[0].Text, []string{near}, "%s must be %s", p.Of, want)
			return
		}
	}
	e.errorf(n.Pos(), code.ValueType, "%s must be %s", p.Of, want)
}

// checkLater compares the type of a run-time value with the required type.
func (e *Evaluator) checkLater(n *source.Node, t *Type, p Place) bool {
	want := t.plain
	if want == "" && len(t.fields) > 0 {
		want = tMap
	}
	if assignable(n.Text, want, p.Doc.V2()) {
		return true
	}
	e.errorf(n.Pos(), code.ValueType, "%s must be %s, and the function makes %s", p.Of, article(want), article(n.Text))
	return false
}

// assignable reports whether a value of one built-in type may stand for another: an integer
// for a float, a string for types written as strings, and in 1.x any scalar for a
// string.
func assignable(is, want string, second bool) bool {
	textual := func(plain string) bool {
		return plain == tString || plain == tVersion || plain == tTimestamp || plain == tBytes || plain == tScalar || isUnit(plain)
	}
	switch {
	case is == "" || want == "" || is == want || textual(is) && textual(want) || is == tInteger && want == tFloat:
		return true
	case is == tRange || want == tRange:
		return is == tList || want == tList
	}
	return want == tString && !second && is != tList && is != tMap
}

func article(plain string) string {
	if plain == tInteger {
		return "an " + plain
	}
	return "a " + plain
}

// checkEntries checks the keys and values of a map, or the entries of a list.
func (e *Evaluator) checkEntries(n *source.Node, key, entry *Definition, p Place) bool {
	ok := true
	if n.Kind == source.Map && key != nil {
		for k := range n.Pairs() {
			if k.Kind == source.Later {
				continue
			}
			if plain := e.Plain(key); k.Kind != source.String && (plain == tString || plain == "") && !key.Doc.V2() { // as written, a number is also a name
				k = source.Scalar(source.String, k.Text, k)
			}
			ok = e.spend(len(p.Of)/16) && e.Check(k, key, p.part("key "+quote(k.Text))) && ok
		}
	}
	if n.Kind != source.List && n.Kind != source.Map || entry == nil {
		return ok
	}
	for i, item := range n.Items {
		at := strconv.Itoa(i)
		if n.Kind == source.Map {
			at = n.Keys[i].Text
		}
		if !e.spend(len(p.Of) / 16) { // each entry gets a name made of it
			return false
		}
		p := p.at(at)
		if item.IsNull() && entry.Doc.V2() && e.Plain(entry) != tNil && e.Plain(entry) != "" {
			e.errorf(item.Pos(), code.ValueType, "%s must be %s, not null", p.Of, article(e.Plain(entry)))
			ok = false
			continue
		}
		ok = e.Check(item, entry, p) && ok
	}
	return ok
}

// Null rejects an explicit null, unless the type is nil (TOSCA 2.0, 9.1.1.6).
func (e *Evaluator) Null(n *source.Node, d *Definition, p Place) (refused bool) {
	if refused = e.hasNull(n, d); refused {
		e.errorf(n.Pos(), code.ValueType, "%s must be %s, not null", p.Of, article(e.Plain(d)))
	}
	return refused
}

func (e *Evaluator) hasNull(n *source.Node, d *Definition) bool {
	return n.WrittenNull() && d != nil && d.Doc.V2() && e.Plain(d) != tNil && e.Plain(d) != ""
}

func (e *Evaluator) checkFields(n *source.Node, t *Type, p Place) bool {
	if n.Kind != source.Map {
		e.reportMisfit(n, p, fmt.Sprintf("a map of the properties of %q, not %s", t.name, Show(n)))
		return false
	}
	before := e.wrong()
	var misspelt []string // reported as unknown, so not as missing
	for k, v := range n.Pairs() {
		def := t.fields[k.Text]
		if def == nil {
			if t.whole && k.Kind != source.Later {
				meant := e.unknown(k.Pos(), code.PropUnknown, k.Text, slices.Sorted(maps.Keys(t.fields)), "%s has no property %q", p.Of, k.Text)
				misspelt = append(misspelt, meant)
			}
			continue
		}
		p := p
		p.Of += "." + k.Text
		if !e.Null(v, def, p) {
			e.Check(v, def, p)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.fields)) {
		def := t.fields[name]
		if slices.Contains(misspelt, name) {
			continue
		}
		if def.Required && def.Fallback() == nil && n.Get(name).IsNull() && (n.Get(name) == nil || e.Plain(def) != tNil && !e.hasNull(n.Get(name), def)) {
			e.errorf(n.Pos(), code.PropMissing, "%s lacks property %q, which is required", p.Of, name)
		}
	}
	return e.wrong() == before
}

// checkNumber checks the number of a scalar.
func (e *Evaluator) checkNumber(n *source.Node, t *Type, p Place) bool {
	text, _, ok := t.amount(n)
	if !ok || t.scalar.number == nil {
		return true
	}
	number := source.Scalar(source.Float, text, n)
	if !strings.ContainsAny(text, ".eE") || strings.HasPrefix(text, "0x") {
		number.Kind = source.Int
	}
	p.Of += ": the number of " + Show(n)
	return e.checkType(number, t.scalar.number, p)
}

// fits returns an empty string, or a description of the expected value.
func (e *Evaluator) fits(n *source.Node, t *Type) string {
	ok, want := false, article(t.plain)
	switch t.plain {
	case tString:
		ok = n.Kind == source.String
		switch {
		case ok || !n.IsScalar():
		case n.IsMoved():
			return fmt.Sprintf("a string: %s is %s", n.Text, article(n.Kind.String()))
		default:
			return fmt.Sprintf("a string: put %s in quotes", n.Text)
		}
	case tInteger:
		_, ok = Integer(n)
		if n.Kind == source.Int || n.Kind == source.Float && strings.Trim(n.Text, "+-0123456789") == "" {
			want = "an integer of 64 bits"
		}
	case tFloat:
		_, ok = Number(n)
		if _, err := strconv.ParseFloat(n.Text, 64); errors.Is(err, strconv.ErrRange) {
			return fmt.Sprintf("a float: %s is too large", n.Text)
		}
	case tBoolean:
		_, ok = n.Word()
		ok = ok && (!t.doc.V2() || n.Text == "true" || n.Text == "false")
		want = "true or false"
	case tBytes:
		ok, want = n.Kind == source.String && isBase64(n.Text), "bytes in base 64"
	case tNil:
		want = "null"
	case tList:
		ok = n.Kind == source.List
	case tMap:
		ok = n.Kind == source.Map
		if i := slices.IndexFunc(n.Keys, func(k *source.Node) bool { return k.Kind != source.String && k.Kind != source.Later }); ok && i >= 0 && t.doc.V2() {
			return fmt.Sprintf("a map whose keys are strings: put %s in quotes", n.Keys[i].Text)
		}
	case tTimestamp:
		_, ok = instant(n.Text, t.doc.V2())
		ok = ok && n.Kind == source.String
		want = "a timestamp of a day that exists, such as \"2025-07-22T10:00:00Z\""
	case tVersion:
		ok = n.Kind == source.String || n.IsScalar() && n.Kind != source.Bool && !t.doc.V2()
		if IsVersion(n.Text, t.doc.V2()) && !ok {
			return fmt.Sprintf("a version: put %s in quotes", n.Text)
		}
		ok = ok && IsVersion(n.Text, t.doc.V2())
		want = "a version, such as \"1.2\" or \"1.2.3.beta-4\""
	case tRange:
		return misfitsRange(n)
	default:
		_, _, ok = t.amount(n)
		want = fmt.Sprintf("a %s, such as %q", t.name, t.example())
	}
	return misfits(n, ok || n.Kind == source.String && strings.Contains(n.Text, Marker) && t.plain != tInteger, want)
}

func misfits(n *source.Node, ok bool, want string) string {
	switch {
	case ok:
		return ""
	case n.IsNull():
		return want + ", not null"
	case n.IsScalar():
		return want + ", not " + quote(n.Text)
	}
	return want + ", not a " + n.Kind.String()
}

// misfitsRange describes a range in which one value is wrong.
func misfitsRange(n *source.Node) string {
	want := "a range: a list of two integers, the lower first"
	if n.Kind == source.List && !isRange(n) {
		return want + ", not " + Show(n)
	}
	return misfits(n, isRange(n), want)
}

func isBase64(text string) bool {
	_, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	return err == nil
}

func isRange(n *source.Node) bool {
	if n.Kind != source.List || len(n.Items) != 2 {
		return false
	}
	if slices.ContainsFunc(n.Items, hasLater) {
		return true
	}
	low, lowest := Integer(n.Items[0])
	high, highest := Integer(n.Items[1])
	return lowest && (n.Items[1].Text == unbounded || (highest && low <= high))
}

// checkFormat checks the content of a string.
func (e *Evaluator) checkFormat(n *source.Node, t *Type, p Place) bool {
	format := t.format()
	if format == "" || n.Kind != source.String || hasLater(n) {
		return true
	}
	err := wellFormed(n.Text)
	if format == "JSON" {
		err = json.Unmarshal([]byte(n.Text), new(any))
	}
	if err != nil {
		e.errorf(n.Pos(), code.ValueType, "%s is not written in %s: %v", p.Of, format, err)
		return false
	}
	return true
}

// wellFormed returns an error unless a text is XML with at least one element.
func wellFormed(text string) error {
	elements := 0
	for dec := xml.NewDecoder(strings.NewReader(text)); ; {
		token, err := dec.Token()
		switch {
		case errors.Is(err, io.EOF) && elements > 0:
			return nil
		case errors.Is(err, io.EOF):
			return errors.New("it has no element")
		case err != nil:
			return err
		}
		if _, ok := token.(xml.StartElement); ok {
			elements++
		}
	}
}
