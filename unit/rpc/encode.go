package rpc

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"
)

// encodeAnswer encodes a methodResponse with one value. It fails only for a value that XML-RPC
// cannot express, which is a bug in the unit and reported as a fault.
func encodeAnswer(v any) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<methodResponse><params><param>")
	if err := encodeValue(&b, reflect.ValueOf(v)); err != nil {
		return nil, err
	}
	b.WriteString("</param></params></methodResponse>\n")
	return b.Bytes(), nil
}

// encodeFault encodes a methodResponse with a fault.
func encodeFault(f fault) []byte {
	var b bytes.Buffer
	b.WriteString("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<methodResponse><fault>")
	// A struct of an int and a string can always be encoded.
	_ = encodeValue(&b, reflect.ValueOf(f))
	b.WriteString("</fault></methodResponse>\n")
	return b.Bytes()
}

func encodeValue(b *bytes.Buffer, v reflect.Value) error {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() {
		return errors.New("XML-RPC has no value for nil")
	}
	if v.Type() == rawXMLType {
		b.Write(v.Bytes())
		return nil
	}
	b.WriteString("<value>")
	err := encodeTyped(b, v)
	b.WriteString("</value>")
	return err
}

// encodeTyped writes the content of a value element.
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
	case reflect.String:
		encodeString(b, v.String())
	case reflect.Slice:
		return encodeList(b, v)
	case reflect.Map:
		return encodeMap(b, v)
	case reflect.Struct:
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

// element writes an element whose text needs no escaping.
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
	b.WriteString("<array><data>")
	for i := range v.Len() {
		if err := encodeValue(b, v.Index(i)); err != nil {
			return err
		}
	}
	b.WriteString("</data></array>")
	return nil
}

// encodeMap writes the members sorted, so that the encoding is deterministic.
func encodeMap(b *bytes.Buffer, v reflect.Value) error {
	if v.Type().Key().Kind() != reflect.String {
		return fmt.Errorf("XML-RPC has no value for a %s", v.Type())
	}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
	b.WriteString("<struct>")
	for _, key := range keys {
		if err := encodeMember(b, key.String(), v.MapIndex(key)); err != nil {
			return err
		}
	}
	b.WriteString("</struct>")
	return nil
}

// members caches the wire names of a type's fields: looking them up for every process took half of
// the time.
var members sync.Map // reflect.Type to []string

func membersOf(t reflect.Type) []string {
	if known, ok := members.Load(t); ok {
		return known.([]string)
	}
	names := make([]string, 0, t.NumField())
	for i := range t.NumField() {
		names = append(names, t.Field(i).Tag.Get("json"))
	}
	members.Store(t, names)
	return names
}

// encodeStruct writes the fields under the names in their json tags, including empty ones.
func encodeStruct(b *bytes.Buffer, v reflect.Value) error {
	b.WriteString("<struct>")
	for i, name := range membersOf(v.Type()) {
		if err := encodeMember(b, name, v.Field(i)); err != nil {
			return err
		}
	}
	b.WriteString("</struct>")
	return nil
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

// escape writes s as well-formed XML text by the rule in the package's documentation.
func escape(b *bytes.Buffer, s string) {
	plain := 0 // start of the text that needs no change
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

// escaped returns the replacement of a rune that cannot be written as it is.
func escaped(r rune, size int) (text string, ok bool) {
	switch {
	case r == '&':
		return "&amp;", true
	case r == '<':
		return "&lt;", true
	case r == '>':
		return "&gt;", true
	case r == '\r': // unescaped, a parser would convert it to a newline
		return "&#13;", true
	case r < ' ' && r != '\t' && r != '\n':
		return string('\u2400' + r), true
	case r == utf8.RuneError && size == 1, r == '\uFFFE', r == '\uFFFF':
		return string(utf8.RuneError), true
	}
	return "", false
}
