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
	"time"
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
		"uint64":          {uint64(1), "<int>1</int>"},
		"a fault code":    {wire.Success, "<int>80</int>"},
		"true":            {true, "<boolean>1</boolean>"},
		"double":          {1e21, "<double>1000000000000000000000</double>"},
		"string":          {"a\r\n<b>&", "<string>a&#13;\n&lt;b&gt;&amp;</string>"},
		"empty string":    {"", "<string></string>"},
		"bytes":           {[]byte{0, 255}, "<base64>AP8=</base64>"},
		"nil slice":       {[]string(nil), "<array><data></data></array>"},
		"array":           {[]any{1, "x"}, "<array><data><value><int>1</int></value><value><string>x</string></value></data></array>"},
		"map, sorted":     {map[string]any{"b": 2, "a": 1}, "<struct><member><name>a</name><value><int>1</int></value></member><member><name>b</name><value><int>2</int></value></member></struct>"},
		"pointer":         {&seven, "<int>7</int>"},
		"time":            {time.Date(2025, 1, 2, 3, 4, 5, 60, time.UTC), "<string>2025-01-02T03:04:05.00000006Z</string>"},
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
	for _, v := range []any{nil, (*int)(nil), math.NaN(), math.Inf(1), uint64(math.MaxUint64), make(chan int), map[int]int{}, []any{nil}} {
		if text, err := encodeAnswer(v); err == nil {
			t.Errorf("%v became %s", v, text)
		}
	}
}

func TestStructsOfTheWireHaveTheirJSONNamesAndLeaveOutWhatIsEmpty(t *testing.T) {
	t.Parallel()
	code := 0
	at := time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)
	running := wire.Execution{ID: "e", Instance: "i", Component: "api", Interface: "Standard", Operation: "start", Outcome: wire.OutcomeRunning, From: "created", Started: at, Seq: 1 << 40}
	ended := running
	ended.ExitCode, ended.Ended, ended.Inputs = &code, at.Add(time.Nanosecond), []string{"PORT"}
	member := func(name, value string) string {
		return "<member><name>" + name + "</name><value>" + value + "</value></member>"
	}
	common := member("id", "<string>e</string>") + member("instance", "<string>i</string>") + member("component", "<string>api</string>") +
		member("interface", "<string>Standard</string>") + member("operation", "<string>start</string>")
	outcome := member("outcome", "<string>running</string>") + member("from", "<string>created</string>") +
		member("started", "<string>2025-01-02T03:04:05Z</string>")
	seq := member("seq", "<i8>1099511627776</i8>")
	for name, tt := range map[string]struct {
		v    wire.Execution
		want string
	}{
		"running": {running, common + outcome + seq},
		"ended": {ended, common + member("inputs", "<array><data><value><string>PORT</string></value></data></array>") + outcome +
			member("ended", "<string>2025-01-02T03:04:05.000000001Z</string>") + member("exit_code", "<int>0</int>") + seq},
	} {
		text, err := encodeAnswer(tt.v)
		if err != nil || !strings.Contains(string(text), "<value><struct>"+tt.want+"</struct></value>") {
			t.Errorf("%s: got %s, %v", name, text, err)
		}
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

// throughXML gives what a client reads where the unit wrote s.
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
	kinds := 7
	if depth == 0 {
		kinds = 5
	}
	switch r.IntN(kinds) {
	case 0:
		return int64(r.Uint64()) >> r.IntN(64)
	case 1:
		return r.IntN(2) == 1
	case 2:
		return math.Float64frombits(r.Uint64()&^(1<<62) | 1<<61)
	case 3:
		return randomText(r)
	case 4:
		b := make([]byte, r.IntN(9))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	case 5:
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
