package data

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toskose/toskose/tosca/internal/code"
	"github.com/toskose/toskose/tosca/internal/source"
)

// string returns a string result, unless it is too long.
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

// eitherKind checks the arguments of concat: strings, or in 2.0 lists, but not both.
func eitherKind(c *call) (v Value, known bool) {
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

// asInteger converts a string of digits, which may be an index, to an integer.
func asInteger(n *source.Node) *source.Node {
	if n.IsNull() || n.Kind != source.String || !digits.MatchString(n.Text) {
		return n
	}
	return source.Scalar(source.Int, strings.TrimLeft(n.Text[:len(n.Text)-1], "0")+n.Text[len(n.Text)-1:], n)
}

// split splits a string at any of some characters.
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

// matchable reports an invalid expression.
func (c *call) matchable() bool {
	n := c.vals[1].Node
	if n.IsNull() || n.Kind != source.String || strings.Contains(n.Text, Marker) {
		return true
	}
	_, err := c.e.pattern(n, false)
	switch {
	case err == nil:
	case foreignSyntax(err):
		c.e.warnf(n.Pos(), code.Pattern, "%s: pattern %s is in an unknown syntax, so values are not checked with it", c.p.Of, Show(n))
	default:
		c.e.errorf(n.Pos(), code.ConstraintWrong, "%s: %s has %s, which is not a regular expression", c.p.Of, c.fn.Text, Show(n))
		return false
	}
	return true
}

// checkMatch checks the expression before the string is known.
func checkMatch(c *call) (v Value, known bool) { return Value{}, !c.matchable() }

// rejectPath rejects splitting a path of an artifact.
func rejectPath(c *call) (v Value, known bool) {
	if text := c.vals[0].Node; text.IsNull() || !strings.Contains(text.Text, Marker) {
		return Value{}, false
	}
	c.e.errorf(c.fn.Pos(), code.FunctionPlace, "%s: %s cannot split the path of an artifact, which is not known before packaging", c.p.Of, c.fn.Text)
	return Value{}, true
}

// lists combines arguments, which must all be lists.
func (c *call) lists(combine func([][]*source.Node) []*source.Node) Value {
	all := make([][]*source.Node, 0, len(c.vals))
	size := 1
	for _, v := range c.vals {
		if !isList(v) {
			return c.wrong("takes strings or lists, and not both: %s is not a list", Show(v.Node))
		}
		all = append(all, v.Node.Items)
		size += max(v.Size, count(v.Node))
	}
	if !c.e.spend(size) {
		return Value{}
	}
	if size > maxValues {
		c.e.errorf(c.fn.Pos(), code.ValueLarge, "%s: %s makes a list of more than %d values", c.p.Of, c.fn.Text, maxValues)
		return Value{}
	}
	v := Known(source.At(source.List, nil, combine(all), c.fn))
	v.Size, v.Def = size, c.def()
	return v
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

func union(c *call) Value {
	return c.lists(func(all [][]*source.Node) []*source.Node {
		var made []*source.Node
		for _, items := range all {
			made = c.distinct(made, items, func(*source.Node) bool { return true })
		}
		return made
	})
}

func intersection(c *call) Value {
	return c.lists(func(all [][]*source.Node) []*source.Node {
		return c.distinct(nil, all[0], func(item *source.Node) bool {
			return !slices.ContainsFunc(all[1:], func(other []*source.Node) bool { return !c.has(other, item) })
		})
	})
}

// distinct appends the wanted items that are not in the list yet.
func (c *call) distinct(made, items []*source.Node, wanted func(*source.Node) bool) []*source.Node {
	for _, item := range items {
		if !c.has(made, item) && wanted(item) {
			made = append(made, item)
		}
	}
	return made
}

// has reports whether a list has an equal entry. It returns false if the limit of work
// is exceeded.
func (c *call) has(items []*source.Node, item *source.Node) bool {
	if !c.e.spend(len(items)) {
		return false
	}
	entry, _ := c.e.Within(c.def(), "0")
	return slices.ContainsFunc(items, func(other *source.Node) bool { return c.e.Equal(other, item, entry) })
}

// checkSameKind rejects a string together with a list.
func checkSameKind(c *call) (v Value, known bool) {
	if a, b := c.e.plainOf(c.vals[0]), c.e.plainOf(c.vals[1]); a != "" && b != "" && (a == tList) != (b == tList) {
		return c.wrong("takes two strings or two lists: %s is %s, and %s is %s", Show(c.vals[0].Node), article(a), Show(c.vals[1].Node), article(b)), true
	}
	return Value{}, false
}

// sequence evaluates has_prefix, has_suffix and contains.
func sequence(c *call) Value {
	a, b := c.vals[0].Node, c.vals[1].Node
	if a.IsNull() || b.IsNull() || (a.Kind == source.List) != (b.Kind == source.List) {
		if v, known := checkSameKind(c); known {
			return v
		}
		return c.misuse() // one of them is null
	}
	if a.Kind != source.List {
		test := map[string]func(string, string) bool{
			"has_prefix": strings.HasPrefix, "has_suffix": strings.HasSuffix, "contains": strings.Contains,
		}[c.f.name]
		return c.truth(test(Text(a), Text(b)))
	}
	last := len(a.Items) - len(b.Items)
	from, to := 0, last
	switch c.f.name {
	case "has_prefix":
		to = min(0, last)
	case "has_suffix":
		from = last
	}
	for start := max(from, 0); start <= to; start++ {
		if c.sameAt(a.Items[start:], b.Items) {
			return c.truth(true)
		}
	}
	return c.truth(false)
}

func (c *call) sameAt(items, want []*source.Node) bool {
	for i, item := range want {
		if !c.has(items[i:i+1], item) {
			return false
		}
	}
	return true
}

// checkEntryType rejects an entry or key of another type than the list's or map's.
func checkEntryType(c *call) (v Value, known bool) {
	def := c.e.Entry(c.vals[0].Def)
	if strings.Contains(c.f.name, "key") {
		def = c.e.Key(c.vals[0].Def)
	}
	wanted := []Value{c.vals[1]}
	if c.f.want(1) == tList {
		wanted = nil
		for _, item := range c.vals[1].Node.Items {
			wanted = append(wanted, Value{Node: item, Def: c.e.Entry(c.vals[1].Def)})
		}
	}
	is := c.e.Plain(def)
	if def == nil && strings.Contains(c.f.name, "key") && c.vals[0].Def != nil {
		is = tString // the default (TOSCA 2.0, 9.2)
	}
	for _, w := range wanted {
		plain := c.e.plainOf(w)
		if is != "" && plain != "" && !comparableTypes(is, plain) && !comparableTypes(plain, is) {
			return c.wrong("looks for %s, which is %s, and each is %s there", Show(w.Node), article(plain), article(is)), true
		}
	}
	return Value{}, false
}

// hasEntry evaluates has_entry, has_all_entries and has_any_entry.
func hasEntry(c *call) Value { return c.membership(c.vals[0].Node.Items) }

// hasKey evaluates has_key, has_all_keys and has_any_key.
func hasKey(c *call) Value { return c.membership(c.vals[0].Node.Keys) }

func (c *call) membership(in []*source.Node) Value {
	if v, known := checkEntryType(c); known {
		return v
	}
	want := c.vals[1].Node
	has := func(item *source.Node) bool { return c.has(in, item) }
	switch {
	case strings.HasPrefix(c.f.name, "has_all"):
		return c.truth(!slices.ContainsFunc(want.Items, func(item *source.Node) bool { return !has(item) }))
	case strings.HasPrefix(c.f.name, "has_any"):
		return c.truth(slices.ContainsFunc(want.Items, has))
	}
	return c.truth(has(want))
}

func lengthOf(c *call) Value {
	n, ok := length(c.vals[0].Node, c.e.plainOf(c.vals[0]))
	if !ok {
		return c.misuse()
	}
	return c.integer(strconv.Itoa(n))
}

func lengthIs(c *call) Value {
	have, ok := length(c.vals[0].Node, c.e.plainOf(c.vals[0]))
	want, isInt := Integer(c.vals[1].Node)
	if !ok || !isInt {
		return c.misuse()
	}
	if c.f.name == kMinLength {
		return c.truth(int64(have) >= want)
	}
	return c.truth(int64(have) <= want)
}
