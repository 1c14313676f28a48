package data

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/toskose/toskose/tosca/internal/source"
)

// Text returns any value as a string: a scalar as TOSCA writes it, a number as written,
// since 1.10 may be a version and 0644 a mode, and a list or map as JSON.
func Text(n *source.Node) string {
	switch {
	case n.IsNull() || n.Kind == source.Later:
		return ""
	case n.Kind == source.Bool:
		return strings.ToLower(n.Text)
	case n.IsScalar():
		return n.Text
	}
	return JSON(Any(n))
}

// JSON encodes a result of Any.
func JSON(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "null" // Any returns only values that JSON can hold
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Show returns a value for a message.
func Show(n *source.Node) string {
	if !n.IsNull() && !n.IsScalar() && manyValues(n, maxShown) < 0 {
		return fmt.Sprintf("a %s of %d values", n.Kind, len(n.Items))
	}
	text := Text(n)
	switch {
	case n.IsNull():
		return "null"
	case n.Kind == source.Later:
		return "a " + n.Kind.String()
	case n.Kind == source.String:
		text = quote(text)
	}
	if len(text) > 80 {
		text = strings.ToValidUTF8(text[:80], "") + "…"
	}
	return text
}

// maxShown is the number of values that a message may show.
const maxShown = 100

// manyValues subtracts the number of values in a value, until the result is negative.
func manyValues(n *source.Node, left int) int {
	left--
	if n != nil {
		for _, item := range n.Items {
			if left < 0 {
				break
			}
			left = manyValues(item, left)
		}
	}
	return left
}

// Any returns a value that JSON holds without loss: numbers are json.Number, or strings
// if JSON has no such number.
func Any(n *source.Node) any {
	if n == nil {
		return nil
	}
	switch n.Kind {
	case source.String:
		return n.Text
	case source.Bool:
		return strings.EqualFold(n.Text, "true")
	case source.Int:
		if i, ok := Integer(n); ok {
			return json.Number(strconv.FormatInt(i, 10))
		}
		return n.Text
	case source.Float:
		return floatAny(n)
	case source.List:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			list[i] = Any(item)
		}
		return list
	case source.Map:
		m := make(map[string]any, len(n.Keys))
		for k, v := range n.Pairs() {
			m[k.Text] = Any(v)
		}
		return m
	default:
		return nil
	}
}

func floatAny(n *source.Node) any {
	f, ok := Number(n)
	if !ok || math.IsInf(f, 0) || math.IsNaN(f) {
		return n.Text
	}
	if json.Valid([]byte(n.Text)) {
		return json.Number(n.Text)
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
}

// maxGiven bounds the nesting of the user's values.
const maxGiven = 64

// FromAny converts a Go value of the caller.
func FromAny(v any, at *source.Node) (*source.Node, error) { return fromAny(v, at, 0) }

func fromAny(v any, at *source.Node, depth int) (*source.Node, error) {
	if depth > maxGiven {
		return nil, fmt.Errorf("nested more than %d levels deep", maxGiven)
	}
	switch v := v.(type) {
	case nil:
		return source.Scalar(source.Null, "", at), nil
	case string:
		if strings.ContainsAny(v, "\x00"+Marker) {
			return nil, fmt.Errorf("the character U+0000 or U+FFFE cannot be passed on")
		}
		return source.Scalar(source.String, v, at), nil
	case json.Number:
		if _, err := v.Int64(); err == nil {
			return source.Scalar(source.Int, v.String(), at), nil
		}
		return source.Scalar(source.Float, v.String(), at), nil
	}
	r := reflect.ValueOf(v)
	switch {
	case r.Kind() == reflect.Bool:
		return source.Scalar(source.Bool, strconv.FormatBool(r.Bool()), at), nil
	case r.CanInt():
		return source.Scalar(source.Int, strconv.FormatInt(r.Int(), 10), at), nil
	case r.CanUint():
		return source.Scalar(source.Int, strconv.FormatUint(r.Uint(), 10), at), nil
	case r.CanFloat():
		return source.Scalar(source.Float, strconv.FormatFloat(r.Float(), 'g', -1, 64), at), nil
	case r.Kind() == reflect.Slice:
		return fromSlice(r, at, depth)
	case r.Kind() == reflect.Map && r.Type().Key().Kind() == reflect.String:
		return fromMap(r, at, depth)
	}
	return nil, fmt.Errorf("it is neither a string, a number, true or false, a list, nor a map")
}

func fromSlice(r reflect.Value, at *source.Node, depth int) (*source.Node, error) {
	items := make([]*source.Node, r.Len())
	for i := range items {
		item, err := fromAny(r.Index(i).Interface(), at, depth+1)
		if err != nil {
			return nil, err
		}
		items[i] = item
	}
	return source.At(source.List, nil, items, at), nil
}

func fromMap(r reflect.Value, at *source.Node, depth int) (*source.Node, error) {
	names := make([]string, 0, r.Len())
	for _, k := range r.MapKeys() {
		names = append(names, k.String())
	}
	slices.Sort(names)
	keys, items := make([]*source.Node, 0, len(names)), make([]*source.Node, 0, len(names))
	for _, name := range names {
		item, err := fromAny(r.MapIndex(reflect.ValueOf(name).Convert(r.Type().Key())).Interface(), at, depth+1)
		if err != nil {
			return nil, err
		}
		keys, items = append(keys, source.Scalar(source.String, name, at)), append(items, item)
	}
	return source.At(source.Map, keys, items, at), nil
}
