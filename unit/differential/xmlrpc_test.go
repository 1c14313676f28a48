package differential

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// encodeCall writes a methodCall whose parameters are a JSON array. An object
// with the one member $xml is a value as it stands.
func encodeCall(method, params string) (string, error) {
	var out strings.Builder
	fmt.Fprintf(&out, "<?xml version='1.0'?>\n<methodCall><methodName>%s</methodName>", method)
	if params != "" {
		decoder := json.NewDecoder(strings.NewReader(params))
		decoder.UseNumber()
		var list []any
		if err := decoder.Decode(&list); err != nil {
			return "", fmt.Errorf("bad parameters %s: %w", params, err)
		}
		out.WriteString("<params>")
		for _, v := range list {
			out.WriteString("<param>")
			encode(&out, v)
			out.WriteString("</param>")
		}
		out.WriteString("</params>")
	}
	out.WriteString("</methodCall>")
	return out.String(), nil
}

func encode(out *strings.Builder, v any) {
	if object, ok := v.(map[string]any); ok && len(object) == 1 && object["$xml"] != nil {
		fmt.Fprintf(out, "<value>%s</value>", object["$xml"])
		return
	}
	out.WriteString("<value>")
	defer out.WriteString("</value>")
	switch v := v.(type) {
	case nil:
		out.WriteString("<nil/>")
	case bool:
		out.WriteString(map[bool]string{false: "<boolean>0</boolean>", true: "<boolean>1</boolean>"}[v])
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			fmt.Fprintf(out, "<double>%s</double>", v)
		} else {
			fmt.Fprintf(out, "<int>%s</int>", v)
		}
	case string:
		out.WriteString("<string>")
		_ = xml.EscapeText(out, []byte(v))
		out.WriteString("</string>")
	case []any:
		out.WriteString("<array><data>")
		for _, element := range v {
			encode(out, element)
		}
		out.WriteString("</data></array>")
	case map[string]any:
		out.WriteString("<struct>")
		for _, name := range slices.Sorted(maps.Keys(v)) {
			fmt.Fprintf(out, "<member><name>%s</name>", name)
			encode(out, v[name])
			out.WriteString("</member>")
		}
		out.WriteString("</struct>")
	}
}

// scalar is a value with the type that it came with.
type scalar struct{ kind, text string }

// element is an element of XML, as far as XML-RPC has any.
type element struct {
	XMLName  xml.Name
	Text     string    `xml:",chardata"`
	Children []element `xml:",any"`
}

func (e element) child(name string) (element, bool) {
	i := slices.IndexFunc(e.Children, func(c element) bool { return c.XMLName.Local == name })
	if i < 0 {
		return element{}, false
	}
	return e.Children[i], true
}

// fault is the other answer that a call can have.
type fault struct{ value any }

// decodeResponse reads a methodResponse.
func decodeResponse(body []byte) (any, error) {
	var response element
	decoder := xml.NewDecoder(bytes.NewReader(body))
	decoder.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	if err := decoder.Decode(&response); err != nil {
		return nil, err
	}
	for _, path := range [][]string{{"params", "param", "value"}, {"fault", "value"}} {
		e, ok := response, true
		for _, name := range path {
			if e, ok = e.child(name); !ok {
				break
			}
		}
		if !ok {
			continue
		}
		v := decode(e)
		if path[0] == "fault" {
			v = fault{v}
		}
		return v, nil
	}
	return nil, errors.New("no methodResponse")
}

func decode(value element) any {
	if len(value.Children) == 0 {
		return scalar{"string", value.Text}
	}
	e := value.Children[0]
	switch e.XMLName.Local {
	case "array":
		list := []any{}
		if data, ok := e.child("data"); ok {
			for _, v := range data.Children {
				list = append(list, decode(v))
			}
		}
		return list
	case "struct":
		members := map[string]any{}
		for _, m := range e.Children {
			name, _ := m.child("name")
			v, _ := m.child("value")
			members[name.Text] = decode(v)
		}
		return members
	case "i4":
		return scalar{"int", e.Text}
	}
	return scalar{e.XMLName.Local, e.Text}
}

// flatten writes a value as lines that can be compared one by one.
func flatten(path string, v any) answer {
	switch v := v.(type) {
	case fault:
		members, _ := v.value.(map[string]any)
		code, _ := members["faultCode"].(scalar)
		text, _ := members["faultString"].(scalar)
		return answer{fmt.Sprintf("fault %s %s", code.text, text.text)}
	case scalar:
		return answer{strings.TrimSpace(fmt.Sprintf("%s = %s %q", path, v.kind, normalField(path, v)))}
	case []any:
		if len(v) == 0 {
			return answer{strings.TrimSpace(path + " = empty array")}
		}
		var lines answer
		scalars := !slices.ContainsFunc(v, func(e any) bool { _, ok := e.(scalar); return !ok })
		for i, e := range v {
			lines = append(lines, flatten(path+index(i, e, scalars), e)...)
		}
		return lines
	case map[string]any:
		var lines answer
		for _, name := range slices.Sorted(maps.Keys(v)) {
			lines = append(lines, flatten(path+"."+name, v[name])...)
		}
		return lines
	}
	return nil
}

// index names an element by what it is, so that a missing one does not make
// all that follow differ.
func index(i int, e any, scalars bool) string {
	if members, ok := e.(map[string]any); ok {
		group, hasGroup := members["group"].(scalar)
		name, hasName := members["name"].(scalar)
		if hasGroup && hasName {
			return "[" + group.text + ":" + name.text + "]"
		}
	}
	if scalars {
		return "[]"
	}
	return fmt.Sprintf("[%d]", i)
}

// shape writes only the types of a value.
func shape(v any) string {
	switch v := v.(type) {
	case fault:
		return flatten("", v)[0]
	case scalar:
		return v.kind
	case []any:
		var types []string
		for _, e := range v {
			types = append(types, shape(e))
		}
		return "[" + strings.Join(types, " ") + "]"
	case map[string]any:
		var types []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			types = append(types, name+" "+shape(v[name]))
		}
		return "{" + strings.Join(types, ", ") + "}"
	}
	return "nothing"
}
