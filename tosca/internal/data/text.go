package data

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/source"
)

// string makes a string, unless it is too long.
func (c *call) string(s string) Value {
	if !c.e.spend(len(s)) {
		return Value{}
	}
	if len(s) > MaxText {
		c.e.errorf(c.fn.Pos(), code.ValueLarge, "%s: %s makes a string of more than %d bytes", c.p.Of, c.fn.Text, MaxText)
		return Value{}
	}
	v := Known(source.Scalar(source.String, s, c.fn))
	v.Def = Of(tString, c.p.Doc)
	return v
}

// concat puts strings together; in 2.0 lists, too.
// eitherKind refuses strings among lists, and what is neither.
func eitherKind(c *call) (v Value, told bool) {
	if !c.p.Doc.V2() {
		return Value{}, false
	}
	first := ""
	for _, v := range c.vals {
		plain := c.e.plainOf(v)
		if plain == "" {
			continue
		}
		if first == "" {
			first = plain
		}
		if plain == tMap || (plain == tList) != (first == tList) {
			return c.wrong("takes strings or lists, and not both: %s is %s", Show(v.Node), article(plain)), true
		}
	}
	return Value{}, false
}

func concat(c *call) Value {
	if isList(c.vals[0]) && c.p.Doc.V2() {
		return c.lists(func(all [][]*source.Node) []*source.Node {
			var made []*source.Node
			for _, items := range all {
				made = append(made, items...)
			}
			return made
		})
	}
	var b strings.Builder
	for _, v := range c.vals {
		if c.p.Doc.V2() && !v.Node.IsScalar() {
			return c.wrong("takes strings or lists, and not both: %s is %s", Show(v.Node), article(v.Node.Kind.String()))
		}
		b.WriteString(Text(v.Node))
		if b.Len() > MaxText {
			break
		}
	}
	return c.string(b.String())
}

func join(c *call) Value {
	list := c.vals[0].Node
	if list.IsNull() || list.Kind != source.List {
		return c.misuse()
	}
	for _, item := range list.Items {
		if c.p.Doc.V2() && !item.IsNull() && !item.IsScalar() {
			return c.wrong("joins strings, and %s is %s", Show(item), article(item.Kind.String()))
		}
	}
	between := ""
	if len(c.vals) > 1 {
		between = Text(c.vals[1].Node)
	}
	if !c.e.spend(len(list.Items) * (1 + len(between))) {
		return Value{}
	}
	var b strings.Builder
	for i, item := range list.Items {
		if i > 0 {
			b.WriteString(between)
		}
		b.WriteString(Text(item))
		if b.Len() > MaxText {
			break
		}
	}
	return c.string(b.String())
}

func token(c *call) Value {
	text, at := Text(c.vals[0].Node), Text(c.vals[1].Node)
	index, ok := Integer(c.vals[2].Node)
	if !ok {
		index, ok = Integer(asInteger(c.vals[2].Node))
	}
	if !ok || index < 0 || at == "" {
		return c.misuse()
	}
	parts := split(text, at)
	if index >= int64(len(parts)) {
		return c.wrong("asks for part %d of %s, which has %d", index, quote(text), len(parts))
	}
	return c.string(parts[index])
}

var digits = regexp.MustCompile(`^[0-9]{1,18}$`)

// asInteger reads a string of digits as a number, which an index may be given
// as.
func asInteger(n *source.Node) *source.Node {
	if n.IsNull() || n.Kind != source.String || !digits.MatchString(n.Text) {
		return n
	}
	return source.Scalar(source.Int, strings.TrimLeft(n.Text[:len(n.Text)-1], "0")+n.Text[len(n.Text)-1:], n)
}

// split parts a string at each of some characters.
func split(s, at string) []string {
	var parts []string
	for {
		i := strings.IndexAny(s, at)
		if i < 0 {
			return append(parts, s)
		}
		_, size := utf8.DecodeRuneInString(s[i:])
		parts, s = append(parts, s[:i]), s[i+size:]
	}
}

func matches(c *call) Value {
	if !c.matchable() {
		return Value{}
	}
	re, err := c.e.pattern(c.vals[1].Node, false)
	if err != nil {
		return c.e.runTime(c.fn, Of(tBoolean, c.p.Doc))
	}
	text := Text(c.vals[0].Node)
	if !c.e.spend(matching(text, c.vals[1].Node.Text)) {
		return Value{}
	}
	return c.truth(re.MatchString(text))
}

// matchable reports an expression that is none.
func (c *call) matchable() bool {
	n := c.vals[1].Node
	if n.IsNull() || n.Kind != source.String || strings.Contains(n.Text, Marker) {
		return true
	}
	_, err := c.e.pattern(n, false)
	switch {
	case err == nil:
	case foreignSyntax(err):
		c.e.warnf(n.Pos(), code.Pattern, "%s: pattern %s is in a syntax that is not known here, so values are not checked with it", c.p.Of, Show(n))
	default:
		c.e.errorf(n.Pos(), code.ConstraintWrong, "%s: %s has %s, which is not a regular expression", c.p.Of, c.fn.Text, Show(n))
		return false
	}
	return true
}

// checkMatch looks at the expression while the string is still to come.
func checkMatch(c *call) (v Value, told bool) { return Value{}, !c.matchable() }

// partsPath refuses to part what packaging will put in.
func partsPath(c *call) (v Value, told bool) {
	if text := c.vals[0].Node; text.IsNull() || !strings.Contains(text.Text, Marker) {
		return Value{}, false
	}
	c.e.errorf(c.fn.Pos(), code.FunctionPlace, "%s: %s cannot part the path of an artifact, which is not known before packaging", c.p.Of, c.fn.Text)
	return Value{}, true
}
