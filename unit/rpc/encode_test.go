package rpc

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toskose/toskose/unit/wire"
)

func TestEncodeAnswerWritesEveryType(t *testing.T) {
	t.Parallel()
	seven := 7
	for name, tt := range map[string]struct {
		v    any
		want string
	}{
		"int":             {7, "<int>7</int>"},
		"the largest int": {math.MaxInt32, "<int>2147483647</int>"},
		"beyond 32 bits":  {int64(math.MaxInt32) + 1, "<i8>2147483648</i8>"},
		"below 32 bits":   {int64(math.MinInt32) - 1, "<i8>-2147483649</i8>"},
		"a fault code":    {wire.Success, "<int>80</int>"},
		"true":            {true, "<boolean>1</boolean>"},
		"string":          {"a\r\n<b>&", "<string>a&#13;\n&lt;b&gt;&amp;</string>"},
		"empty string":    {"", "<string></string>"},
		"nil slice":       {[]string(nil), "<array><data></data></array>"},
		"array":           {[]any{1, "x"}, "<array><data><value><int>1</int></value><value><string>x</string></value></data></array>"},
		"map, sorted":     {map[string]any{"b": 2, "a": 1}, "<struct><member><name>a</name><value><int>1</int></value></member><member><name>b</name><value><int>2</int></value></member></struct>"},
		"pointer":         {&seven, "<int>7</int>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := encodeAnswer(tt.v)
			want := "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<methodResponse><params><param><value>" + tt.want +
				"</value></param></params></methodResponse>\n"
			if err != nil || string(text) != want {
				t.Errorf("got %s, %v", text, err)
			}
		})
	}
}

func TestEncodeAnswerRefusesWhatXMLRPCCannotSay(t *testing.T) {
	t.Parallel()
	for _, v := range []any{nil, (*int)(nil), 1.5, uint64(1), make(chan int), map[int]int{}, []any{nil}} {
		if text, err := encodeAnswer(v); err == nil {
			t.Errorf("%v became %s", v, text)
		}
	}
}

func TestStructsOfTheWireHaveTheirJSONNames(t *testing.T) {
	t.Parallel()
	text, err := encodeAnswer(wire.ProcessStatus{Name: "start", Group: "api", Status: wire.Success})
	want := "<struct><member><name>name</name><value><string>start</string></value></member>" +
		"<member><name>group</name><value><string>api</string></value></member>" +
		"<member><name>status</name><value><int>80</int></value></member>" +
		"<member><name>description</name><value><string></string></value></member></struct>"
	if err != nil || !strings.Contains(string(text), want) {
		t.Errorf("got %s, %v", text, err)
	}
}

func TestAnyStringArrivesAsXMLThatParses(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"\x1b[31mred\x00":             "␛[31mred␀",
		"tab\tline\nreturn\r\n":       "tab\tline\nreturn\r\n",
		"\xff\xfeabc\xc3":             "��abc�",
		"\uFFFE\uFFFF":                "��",
		"\xed\xa0\x80":                "���", // a surrogate in UTF-8
		"\x7f\u0085 emoji \U0001F600": "\x7f\u0085 emoji \U0001F600",
		"]]> & <x/> \"'":              "]]> & <x/> \"'",
	} {
		if got := throughXML(t, given); got != want {
			t.Errorf("%q arrives as %q, want %q", given, got, want)
		}
	}
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	if got := throughXML(t, string(all)); utf8.RuneCountInString(got) != 256 {
		t.Errorf("256 bytes arrive as %d characters", utf8.RuneCountInString(got))
	}
}

// throughXML returns what a client reads where the unit wrote s.
func throughXML(t *testing.T, s string) string {
	t.Helper()
	text, err := encodeAnswer(s)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	d := xml.NewDecoder(strings.NewReader(string(text)))
	inside := false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return b.String()
		}
		if err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			inside = token.Name.Local == "string"
		case xml.EndElement:
			inside = false
		case xml.CharData:
			if inside {
				b.Write(token)
			}
		}
	}
}

func TestWhatIsEncodedIsDecodedAsItWas(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		want := randomValue(random, 4)
		text, err := encodeAnswer(want)
		if err != nil {
			t.Fatal(err)
		}
		_, value, _ := strings.Cut(string(text), "<param>")
		value, _, _ = strings.Cut(value, "</param>")
		c, err := decodeCall([]byte("<methodCall><methodName>m</methodName><params><param>"+value+"</param></params></methodCall>"), Limits{}.withDefaults())
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !reflect.DeepEqual(c.params, []any{want}) {
			t.Fatalf("%#v arrived as %#v", want, c.params)
		}
	}
}

func randomValue(r *rand.Rand, depth int) any {
	kinds := 5
	if depth == 0 {
		kinds = 3
	}
	switch r.IntN(kinds) {
	case 0:
		return int64(r.Uint64()) >> r.IntN(64)
	case 1:
		return r.IntN(2) == 1
	case 2:
		return randomText(r)
	case 3:
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = randomValue(r, depth-1)
		}
		return list
	}
	members := map[string]any{}
	for range r.IntN(4) {
		members[randomText(r)] = randomValue(r, depth-1)
	}
	return members
}

func randomText(r *rand.Rand) string {
	letters := []rune("ab <>&\"'\r\n\t]é日😀\u007f")
	text := make([]rune, r.IntN(8))
	for i := range text {
		text[i] = letters[r.IntN(len(letters))]
	}
	return string(text)
}
