package source_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toskose/toskose/tosca/internal/source"
)

// dump writes a tree with its kinds, and no positions.
func dump(n *source.Node) string {
	switch n.Kind {
	case source.List:
		items := make([]string, len(n.Items))
		for i, item := range n.Items {
			items[i] = dump(item)
		}
		return "[" + strings.Join(items, " ") + "]"
	case source.Map:
		var pairs []string
		for k, v := range n.Pairs() {
			pairs = append(pairs, k.Text+":"+dump(v))
		}
		return "{" + strings.Join(pairs, " ") + "}"
	default:
		return n.Kind.String() + "(" + n.Text + ")"
	}
}

func TestParseKeepsWhatIsWritten(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		"a: 1.10":                               "{a:float(1.10)}",
		"a: 0644":                               "{a:integer(0644)}",
		"a: '1'":                                "{a:string(1)}",
		"a: 2020-01-01":                         "{a:string(2020-01-01)}",
		"[yes, True, ~, '']":                    "[string(yes) boolean(True) null() string()]",
		"8080: x":                               "{8080:string(x)}",
		"a: &x {b: 1}\nc: *x":                   "{a:{b:integer(1)} c:{b:integer(1)}}",
		"a: &x 1\nb: &y [*x]\nc: *y":            "{a:integer(1) b:[integer(1)] c:[integer(1)]}",
		"x: &x {a: 1, b: 2}\ny: {b: 3, <<: *x}": "{x:{a:integer(1) b:integer(2)} y:{b:integer(3) a:integer(1)}}",
		"x: &x {a: 1}\ny: &y {a: 2}\nz: {<<: [*y, *x]}": "{x:{a:integer(1)} y:{a:integer(2)} z:{a:integer(2)}}",
		"*": "", "a: *x": "", "\t- a": "", "a: !!binary aGk=": "", "\"a\\uFFFEb\"": "",
	} {
		n, bad := source.Parse("f", []byte(doc))
		switch {
		case want == "" && (len(bad) == 0 || n != nil):
			t.Errorf("%q was read", doc)
		case want != "" && len(bad) > 0:
			t.Errorf("%q: %v", doc, bad)
		case want != "":
			if diff := cmp.Diff(want, dump(n)); diff != "" {
				t.Errorf("%q (-want +got):\n%s", doc, diff)
			}
		}
	}
}

func TestKeysMayBeListsAndMapsWhereTheDocumentSaysSo(t *testing.T) {
	t.Parallel()
	opts := source.Options{ListKeys: func(key, value string) bool { return key == "v" && value == "2" }}
	for doc, want := range map[string]string{
		"v: 2\n[a, b]: 1": "{v:integer(2) [a, b]:integer(1)}",
		"v: 2\nx: {{f: [a, {b: c}]}: 1, [[], {}]: 2}": "{v:integer(2) x:{{f: [a, {b: c}]}:integer(1) [[], {}]:integer(2)}}",
		"v: 1\n[a, b]: 1":              "",
		"v: [2]\n[a]: 1":               "",
		"x: {v: 2}\n[a]: 1":            "",
		"v: 2\n[a, b]: 1\n'[a, b]': 2": "",
		"v: 2\n? [" + strings.Repeat("aaaa, ", 300) + "b]\n: 1": "",
	} {
		n, bad := source.ParseWith("f", []byte(doc), opts)
		switch {
		case want == "" && len(bad) == 0:
			t.Errorf("%q was read", doc)
		case want != "" && (len(bad) > 0 || dump(n) != want):
			t.Errorf("%q: %s, %v", doc, dump(n), bad)
		}
	}
	n, _ := source.ParseWith("f", []byte("v: 2\n[a, b]: 1"), opts)
	if key := n.Keys[1]; key.Kind != source.List || len(key.Items) != 2 || n.Get("[a, b]") == nil {
		t.Errorf("the key is %v", key)
	}
}

func TestPositionsAreThoseOfTheFile(t *testing.T) {
	t.Parallel()
	n, bad := source.Parse("a/b.yaml", []byte("a:\n  b: [x,\n    y]\n"))
	if len(bad) > 0 {
		t.Fatal(bad)
	}
	if got := n.Get("a").Get("b").Items[1].Pos().String(); got != "a/b.yaml:3:5" {
		t.Errorf("y stands at %s", got)
	}
}

func TestAnAliasWithoutItsAnchorIsReportedWhereItStands(t *testing.T) {
	t.Parallel()
	_, bad := source.Parse("f", []byte("a: &x 1\nb: *x\nc: [ *gone ]\n"))
	if len(bad) != 1 || bad[0].Line != 3 {
		t.Errorf("want one problem in line 3, got %v", bad)
	}
}

func TestLargeMapsAreFoundByIndexToo(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 40 {
		b.WriteString(strings.Repeat("k", i+1) + ": v\n")
	}
	n, _ := source.Parse("f", []byte(b.String()))
	if n.Get(strings.Repeat("k", 40)) == nil || n.Get("none") != nil || n.Get("k") == nil {
		t.Error("a key is not found, or one that is not there is")
	}
}

func TestHostileYAMLIsRefusedInBounds(t *testing.T) {
	t.Parallel()
	merges := "a: &a {" + strings.Repeat("x, ", 10) + "y}\nb: {" + strings.Repeat("<<: *a, ", 5) + "z: 1}\n"
	for name, doc := range map[string]string{
		"too large":       strings.Repeat("x", source.MaxBytes+1),
		"too many values": strings.Repeat("[],", 3<<20),
		"deep flow":       strings.Repeat("[", 9000),
		"deep blocks":     strings.Repeat("- ", 5000) + "x",
		"deep by aliases": deepAliases(),
		"duplicate keys":  merges[:9] + "x, x: 1}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, bad := source.Parse("f", []byte(doc))
			if n != nil || len(bad) == 0 {
				t.Error("it was read")
			}
			if len(bad) > 100 {
				t.Errorf("%d problems", len(bad))
			}
		})
	}
}

// deepAliases nests by aliases what is flat to look at.
func deepAliases() string {
	doc := "- &a000 [x]\n"
	for i := 1; i < 200; i++ {
		doc += "- &a" + itoa(i) + " [*a" + itoa(i-1) + "]\n"
	}
	return doc
}

func itoa(i int) string {
	return string([]byte{byte('0' + i/100), byte('0' + i/10%10), byte('0' + i%10)})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("a: &x {b: [1, 2]}\nc: {<<: *x, d: *x}\n"))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("? [a]\n: b\n--- x"))
	f.Fuzz(func(t *testing.T, data []byte) {
		n, bad := source.Parse("f", data)
		if (n == nil) == (len(bad) == 0) {
			t.Fatal("neither a tree nor a problem, or both")
		}
	})
}

// yaml.v3 says of these a line at most, and often another one.
func TestWhatIsNoYAMLIsFoundWhereItIs(t *testing.T) {
	t.Parallel()
	const before, after = "a: 1\nb: [2,\n  3]\n", "\ny:\n  z: 1\n"
	for doc, want := range map[string]string{
		"é: @x":                                "4:4: not YAML: \"@\" cannot begin a value; put the value in quotes",
		"c: %x":                                "4:4: not YAML: \"%\" cannot begin a value; put the value in quotes",
		"c:\n\td: 1":                           "5:1: not YAML: a tab cannot indent; use spaces",
		"c: d: e":                              "4:4: not YAML: mapping values are not allowed in this context",
		"c: *d":                                "4:4: not YAML: unknown anchor 'd' referenced",
		"c: [*c, *d, *e]":                      "4:5: not YAML: unknown anchor 'c' referenced",
		"c:\n  d: 1\n e: 2":                    "6:2: not YAML: did not find expected key; is the line indented as the others of its block?",
		"c: 'd":                                "4:4: not YAML: found unexpected end of stream",
		"c: \"d":                               "4:4: not YAML: found unexpected end of stream",
		"c: \"\\q\"":                           "4:4: not YAML: found unknown escape character",
		"c: [1, 2}":                            "4:9: not YAML: did not find expected ',' or ']'",
		"c: {d: 1]":                            "4:9: not YAML: did not find expected ',' or '}'",
		"c: d\x01e":                            "4:5: not YAML: control character U+0001",
		"é: d\u009be":                          "4:5: not YAML: control character U+009B",
		"c: d\xefe":                            "4:5: not YAML: byte 0xEF is not UTF-8; the file may be in another encoding",
		"c: !x!y z":                            "4:9: not YAML: found undefined tag handle",
		"- c":                                  "4:3: not YAML: did not find expected key; is the line indented as the others of its block?",
		"c: - d":                               "4:4: not YAML: block sequence entries are not allowed in this context",
		"c: &d &e f":                           "4:10: not YAML: did not find expected key; is the line indented as the others of its block?",
		"c: {d: " + strings.Repeat("[", 20000): "4:10007: nested more than 128 levels deep",
	} {
		_, bad := source.Parse("f", []byte(before+doc+after))
		if got := bad.Error(); len(bad) != 1 || got != "f:"+want {
			t.Errorf("%.20q:\ngot  %s\nwant f:%s", doc, got, want)
		}
	}
	large := "a:\n" + strings.Repeat("  b: c\n", 50_000)
	for doc, want := range map[string]string{
		large + " d: [":                 "f:50002:1: not YAML: did not find expected key; is the line indented as the others of its block?",
		large + "d: 'e":                 "f:50002:1: not YAML: found unexpected end of stream",
		"":                              "f: the file holds no YAML document",
		"# x\n":                         "f: the file holds no YAML document",
		"%YAML 3.0\n---\na: b\n":        "f:1:1: not YAML: found incompatible YAML document",
		"\xff\xfe\x00\x00a\x00\x00\x00": "f: not YAML: the file is in UTF-32; UTF-8 and UTF-16 are read",
		"a: {b: c\n":                    "f:1:8: not YAML: did not find expected ',' or '}'",
	} {
		if _, bad := source.Parse("f", []byte(doc)); bad.Error() != want {
			t.Errorf("%q: got %s, want %s", doc, bad, want)
		}
	}
}

// TOSCA asks for YAML 1.2, and the library for 1.1.
func TestDocumentsSayWhichYAMLTheyAreAndHowTheyAreWritten(t *testing.T) {
	t.Parallel()
	for _, doc := range []string{
		"%YAML 1.2\n---\na: b\n", "# x\n\n%YAML\t1.2\r\n--- # y\r\na: b\r\n", "%YAML 1.1\n---\na: b", "%TAG !x! !y\n%YAML 1.2\n---\na: b",
		"\uFEFFa: b", "\uFEFF%YAML 1.2\n---\na: b", "a: b\n...\n", "---\na: b", "a: b\r",
		"\xff\xfea\x00:\x00 \x00b\x00", "\xfe\xff\x00a\x00:\x00 \x00b",
	} {
		n, bad := source.Parse("f", []byte(doc))
		if len(bad) > 0 || dump(n) != "{a:string(b)}" {
			t.Errorf("%q: %v", doc, bad)
		}
	}
	n, _ := source.Parse("f", []byte("a: '%YAML 1.2 '\nb: |\n  %YAML 1.2\n"))
	if got := dump(n); got != "{a:string(%YAML 1.2 ) b:string(%YAML 1.2\n)}" {
		t.Errorf("a text is changed: %s", got)
	}
}

func TestTheHundredAndFirstProblemSaysHowManyAreLeft(t *testing.T) {
	t.Parallel()
	for n, last := range map[int]string{
		101: `f:101:1: key "a" is defined twice (first in line 1)`,
		102: `f:102:1: key "a" is defined twice (first in line 1)`,
		103: "f:102:1: and 2 more problems in the YAML from here on",
		999: "f:102:1: and 898 more problems in the YAML from here on",
	} {
		_, bad := source.Parse("f", []byte(strings.Repeat("a: b\n", n)))
		if len(bad) > 101 || bad[len(bad)-1].Error() != last {
			t.Errorf("%d: %d problems, the last %s", n, len(bad), bad[len(bad)-1].Error())
		}
	}
}

// What is wrong in one place leaves the rest to be read; what passes a bound does
// not.
func TestSlipsLeaveTheRestToBeRead(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		"a: 1\na: 2\nb: 3":            "{a:integer(1) b:integer(3)}",
		"[x]: 1\nb: 3":                "{b:integer(3)}",
		"a: !!binary aGk=\nb: !x [1]": "{a:string(aGk=) b:[integer(1)]}",
		"a: {<<: 1, c: 2}\nb: 3":      "{a:{c:integer(2)} b:integer(3)}",
		"a: \"\\0\"\nb: 3":            "{a:string(\x00) b:integer(3)}",
		"a: &a [*a]\na: 1":            "",
		"a: 1\na: " + strings.Repeat("[", 200) + strings.Repeat("]", 200): "",
		"a: 1\na: {b": "",
	} {
		n, bad := source.ParseWith("f", []byte(doc), source.Options{})
		got := ""
		if n != nil {
			got = dump(n)
		}
		if len(bad) == 0 || got != want {
			t.Errorf("%.40q: %s, %v", doc, got, bad)
		}
		if n, _ := source.Parse("f", []byte(doc)); n != nil {
			t.Errorf("%.40q is read by Parse, too", doc)
		}
	}
}
