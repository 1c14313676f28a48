package rpc

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// call is a decoded request. Its parameters are of the types int64, bool,
// string, float64, time.Time, []byte, []any and map[string]any only.
type call struct {
	method string
	params []any
}

// decoder reads one methodCall. Elements unknown to XML-RPC are rejected where they begin, so
// nesting is bounded by the depth of values.
type decoder struct {
	xml       *xml.Decoder
	maxDepth  int
	maxValues int
	values    int
}

// decodeCall decodes a body, which must contain only a methodCall.
func decodeCall(body []byte, limits Limits) (call, error) {
	d := &decoder{
		xml:       xml.NewDecoder(bytes.NewReader(body)),
		maxDepth:  limits.Depth,
		maxValues: limits.Values,
	}
	d.xml.CharsetReader = asciiOnly
	c, err := d.call()
	if err != nil {
		return call{}, fmt.Errorf("cannot read the XML-RPC request at byte %d: %w", d.xml.InputOffset(), err)
	}
	return c, nil
}

// asciiOnly accepts the only encoding besides UTF-8 that needs no conversion.
func asciiOnly(charset string, input io.Reader) (io.Reader, error) {
	if strings.EqualFold(charset, "us-ascii") || strings.EqualFold(charset, "ascii") {
		return input, nil
	}
	return nil, fmt.Errorf("encoding %q is not supported", charset)
}

func (d *decoder) call() (call, error) {
	if err := d.mustOpen("methodCall"); err != nil {
		return call{}, err
	}
	if err := d.mustOpen("methodName"); err != nil {
		return call{}, err
	}
	name, err := d.text()
	if err != nil {
		return call{}, err
	}
	c := call{method: strings.TrimSpace(name)}
	if c.method == "" {
		return call{}, errors.New("the method name is empty")
	}
	child, err := d.open()
	if err != nil {
		return call{}, err
	}
	if child != "" {
		if c.params, err = d.params(child); err != nil {
			return call{}, err
		}
		if err := d.mustClose(); err != nil {
			return call{}, err
		}
	}
	return c, d.end()
}

func (d *decoder) params(element string) ([]any, error) {
	if element != "params" {
		return nil, fmt.Errorf("element %q where params or the end of the call belongs", element)
	}
	var params []any
	for {
		child, err := d.open()
		if err != nil || child == "" {
			return params, err
		}
		if child != "param" {
			return nil, fmt.Errorf("element %q where a param belongs", child)
		}
		if err := d.mustOpen("value"); err != nil {
			return nil, err
		}
		v, err := d.value(1)
		if err != nil {
			return nil, err
		}
		if err := d.mustClose(); err != nil {
			return nil, err
		}
		params = append(params, v)
	}
}

// value reads the content and end of an opened <value>.
func (d *decoder) value(depth int) (any, error) {
	if depth > d.maxDepth {
		return nil, fmt.Errorf("values are nested more than %d deep", d.maxDepth)
	}
	if d.values++; d.values > d.maxValues {
		return nil, fmt.Errorf("there are more than %d values", d.maxValues)
	}
	var text strings.Builder
	for {
		token, err := d.token()
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.CharData:
			text.Write(token)
		case xml.EndElement:
			return text.String(), nil
		case xml.StartElement:
			if strings.TrimSpace(text.String()) != "" {
				return nil, errors.New("text before the type of a value")
			}
			v, err := d.typed(elementName(token), depth)
			if err != nil {
				return nil, err
			}
			return v, d.mustClose()
		}
	}
}

func (d *decoder) typed(kind string, depth int) (any, error) {
	switch kind {
	case "array":
		return d.array(depth)
	case "struct":
		return d.structure(depth)
	case "string", "int", "i4", "i8", "boolean", "double", "base64", "dateTime.iso8601":
		text, err := d.text()
		if err != nil {
			return nil, err
		}
		return scalar(kind, text)
	}
	return nil, fmt.Errorf("%q is not a type of XML-RPC", kind)
}

func scalar(kind, text string) (any, error) {
	if kind == "string" {
		return text, nil
	}
	v, ok := any(nil), false
	switch text = strings.TrimSpace(text); kind {
	case "int", "i4", "i8":
		n, err := strconv.ParseInt(text, 10, 64)
		v, ok = n, err == nil
	case "boolean":
		v, ok = text == "1", text == "0" || text == "1"
	case "double":
		f, err := strconv.ParseFloat(text, 64)
		// XML-RPC has neither infinities nor numbers in hexadecimal.
		v, ok = f, err == nil && f-f == 0 && !strings.ContainsAny(text, "xX_")
	case "base64":
		b, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
		v, ok = b, err == nil
	case "dateTime.iso8601":
		t, err := time.Parse("20060102T15:04:05", text)
		v, ok = t, err == nil
	}
	if !ok {
		return nil, fmt.Errorf("%s cannot be %q", kind, clip(text))
	}
	return v, nil
}

// clip shortens client data for the log.
func clip(text string) string {
	if len(text) > 40 {
		return text[:40] + "…"
	}
	return text
}

func (d *decoder) array(depth int) ([]any, error) {
	if err := d.mustOpen("data"); err != nil {
		return nil, err
	}
	items := []any{}
	for {
		child, err := d.open()
		if err != nil {
			return nil, err
		}
		if child == "" {
			return items, d.mustClose()
		}
		if child != "value" {
			return nil, fmt.Errorf("element %q in an array", child)
		}
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		items = append(items, v)
	}
}

func (d *decoder) structure(depth int) (map[string]any, error) {
	members := map[string]any{}
	for {
		child, err := d.open()
		if err != nil || child == "" {
			return members, err
		}
		if child != "member" {
			return nil, fmt.Errorf("element %q in a struct", child)
		}
		if err := d.mustOpen("name"); err != nil {
			return nil, err
		}
		name, err := d.text()
		if err != nil {
			return nil, err
		}
		if _, twice := members[name]; twice {
			return nil, fmt.Errorf("a struct has member %q twice", clip(name))
		}
		if err := d.mustOpen("value"); err != nil {
			return nil, err
		}
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if err := d.mustClose(); err != nil {
			return nil, err
		}
		members[name] = v
	}
}
