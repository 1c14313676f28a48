package rpc

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// encodeAnswer writes a methodResponse with one value. It fails only on a value
// that XML-RPC cannot say, which is the unit's mistake and answered as a fault.
func encodeAnswer(v any) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<methodResponse><params><param>")
	if err := encodeValue(&b, reflect.ValueOf(v)); err != nil {
		return nil, err
	}
	b.WriteString("</param></params></methodResponse>\n")
	return b.Bytes(), nil
}

// encodeFault writes a methodResponse with a fault.
func encodeFault(f fault) []byte {
	var b bytes.Buffer
	b.WriteString("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<methodResponse><fault>")
	// A struct of an int and a string always has a form.
	_ = encodeValue(&b, reflect.ValueOf(f))
	b.WriteString("</fault></methodResponse>\n")
	return b.Bytes()
}

var timeType = reflect.TypeFor[time.Time]()

func encodeValue(b *bytes.Buffer, v reflect.Value) error {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() {
		return errors.New("XML-RPC has no value for nil")
	}
	if v.Type() == encodedType {
		b.Write(v.Bytes())
		return nil
	}
	b.WriteString("<value>")
	err := encodeTyped(b, v)
	b.WriteString("</value>")
	return err
}

// encodeTyped writes what stands between the tags of a value.
func encodeTyped(b *bytes.Buffer, v reflect.Value) error {
	switch v.Kind() {
	case reflect.Bool:
		bit := "0"
		if v.Bool() {
			bit = "1"
		}
		element(b, "boolean", bit)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		encodeInt(b, v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if v.Uint() > math.MaxInt64 {
			return fmt.Errorf("XML-RPC has no integer %d", v.Uint())
		}
		encodeInt(b, int64(v.Uint()))
	case reflect.Float32, reflect.Float64:
		if f := v.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("XML-RPC has no number %v", f)
		}
		element(b, "double", strconv.FormatFloat(v.Float(), 'f', -1, 64))
	case reflect.String:
		encodeString(b, v.String())
	case reflect.Slice, reflect.Array:
		return encodeList(b, v)
	case reflect.Map:
		return encodeMap(b, v)
	case reflect.Struct:
		if v.Type() == timeType {
			encodeString(b, v.Interface().(time.Time).Format(time.RFC3339Nano))
			return nil
		}
		return encodeStruct(b, v)
	default:
		return fmt.Errorf("XML-RPC has no value for a %s", v.Type())
	}
	return nil
}

func encodeInt(b *bytes.Buffer, n int64) {
	kind := "int"
	if n > math.MaxInt32 || n < math.MinInt32 {
		kind = "i8"
	}
	element(b, kind, strconv.FormatInt(n, 10))
}

// element writes text that needs no escaping.
func element(b *bytes.Buffer, name, text string) {
	for _, part := range [...]string{"<", name, ">", text, "</", name, ">"} {
		b.WriteString(part)
	}
}

func encodeString(b *bytes.Buffer, s string) {
	b.WriteString("<string>")
	escape(b, s)
	b.WriteString("</string>")
}

func encodeList(b *bytes.Buffer, v reflect.Value) error {
	if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
		element(b, "base64", base64.StdEncoding.EncodeToString(v.Bytes()))
		return nil
	}
	b.WriteString("<array><data>")
	for i := range v.Len() {
		if err := encodeValue(b, v.Index(i)); err != nil {
			return err
		}
	}
	b.WriteString("</data></array>")
	return nil
}

// encodeMap writes the members sorted, so that the same answer has the same bytes.
func encodeMap(b *bytes.Buffer, v reflect.Value) error {
	if v.Type().Key().Kind() != reflect.String {
		return fmt.Errorf("XML-RPC has no value for a %s", v.Type())
	}
	keys := v.MapKeys()
	sort.SliceStable(keys, func(i, j int) bool { return keys[i].String() < keys[j].String() })
	b.WriteString("<struct>")
	for _, key := range keys {
		if err := encodeMember(b, key.String(), v.MapIndex(key)); err != nil {
			return err
		}
	}
	b.WriteString("</struct>")
	return nil
}

// member is a field of a struct as it is named on the wire.
type member struct {
	index   int
	name    string
	options string
}

// members remembers what reflection finds of a type: to find it anew for every
// process of an answer was half of the work.
var members sync.Map // reflect.Type to []member

func membersOf(t reflect.Type) []member {
	if known, ok := members.Load(t); ok {
		return known.([]member)
	}
	var found []member
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = field.Name
		}
		found = append(found, member{i, name, options})
	}
	members.Store(t, found)
	return found
}

// encodeStruct writes the fields under the names of their json tags, leaving
// out what encoding/json would. Embedded structs do not occur in unit/wire.
func encodeStruct(b *bytes.Buffer, v reflect.Value) error {
	b.WriteString("<struct>")
	for _, m := range membersOf(v.Type()) {
		field := v.Field(m.index)
		if m.options != "" && leftOut(field, m.options) {
			continue
		}
		if err := encodeMember(b, m.name, field); err != nil {
			return err
		}
	}
	b.WriteString("</struct>")
	return nil
}

func leftOut(v reflect.Value, options string) bool {
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "omitzero":
			if v.IsZero() {
				return true
			}
		case "omitempty":
			switch v.Kind() {
			case reflect.Slice, reflect.Map:
				if v.Len() == 0 {
					return true
				}
			case reflect.Struct: // encoding/json never finds a struct empty
			default:
				if v.IsZero() {
					return true
				}
			}
		}
	}
	return false
}

func encodeMember(b *bytes.Buffer, name string, v reflect.Value) error {
	b.WriteString("<member><name>")
	escape(b, name)
	b.WriteString("</name>")
	if err := encodeValue(b, v); err != nil {
		return fmt.Errorf("member %q: %w", name, err)
	}
	b.WriteString("</member>")
	return nil
}

// escape writes s as XML text that any client parses. The package's
// documentation has the rule.
func escape(b *bytes.Buffer, s string) {
	plain := 0 // where what needs no change began
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if other, ok := escaped(r, size); ok {
			b.WriteString(s[plain:i])
			b.WriteString(other)
			plain = i + size
		}
		i += size
	}
	b.WriteString(s[plain:])
}

// escaped is what stands for a rune of so many bytes that cannot stand for itself.
func escaped(r rune, size int) (text string, ok bool) {
	switch {
	case r == '&':
		return "&amp;", true
	case r == '<':
		return "&lt;", true
	case r == '>':
		return "&gt;", true
	case r == '\r': // bare, a parser would make it a newline
		return "&#13;", true
	case r < ' ' && r != '\t' && r != '\n':
		return string('\u2400' + r), true
	case r == utf8.RuneError && size == 1, r == '\uFFFE', r == '\uFFFF':
		return string(utf8.RuneError), true
	}
	return "", false
}
