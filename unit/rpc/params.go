package rpc

import (
	"context"
	"fmt"
	"strconv"

	"github.com/toskose/toskose/unit/wire"
)

// method is a row of the method table.
type method struct {
	name    string
	aliases []string
	params  []param
	returns string // XML-RPC's name of the type
	help    string
	always  bool // also during a shutdown
	do      func(context.Context, args) (any, error)
}

// param is a parameter of a method.
type param struct {
	name     string
	kind     string // XML-RPC's name of the type
	number   bool   // an int is accepted as a string
	fallback any    // value of a missing optional parameter; nil: required
}

// args are checked parameters, so the getters cannot fail.
type args []any

func (a args) str(i int) string { return a[i].(string) }
func (a args) int(i int) int64  { return a[i].(int64) }
func (a args) bool(i int) bool  { return a[i].(bool) }
func (a args) list(i int) []any { return a[i].([]any) }

// signature returns the result of system.methodSignature.
func (m method) signature() []string {
	types := []string{m.returns}
	for _, p := range m.params {
		types = append(types, p.kind)
	}
	return types
}

// check adds missing optional parameters and returns an error for wrong ones.
func (m method) check(params []any) (args, error) {
	if len(params) > len(m.params) {
		return nil, incorrect("%s takes at most %d parameters, not %d", m.name, len(m.params), len(params))
	}
	checked := make(args, 0, len(m.params))
	for i, p := range m.params {
		if i >= len(params) {
			if p.fallback == nil {
				return nil, incorrect("%s needs parameter %d, %s", m.name, i+1, p.name)
			}
			checked = append(checked, p.fallback)
			continue
		}
		v, ok := p.convert(params[i])
		if !ok {
			return nil, incorrect("parameter %d of %s, %s, is of type %s, not %s", i+1, m.name, p.name, p.kind, typeName(params[i]))
		}
		checked = append(checked, v)
	}
	return checked, nil
}

// convert converts a parameter as Supervisor's clients expect: base64 to a string of bytes, and an
// int to a boolean.
func (p param) convert(v any) (any, bool) {
	switch v := v.(type) {
	case []byte:
		return string(v), p.kind == "string"
	case int64:
		switch {
		case p.kind == "boolean":
			return v != 0, true
		case p.kind == "string" && p.number:
			return strconv.FormatInt(v, 10), true
		}
	}
	return v, p.kind == typeName(v)
}

func typeName(v any) string {
	switch v.(type) {
	case int64:
		return "int"
	case bool:
		return "boolean"
	case string:
		return "string"
	case float64:
		return "double"
	case []byte:
		return "base64"
	case []any:
		return "array"
	case map[string]any:
		return "struct"
	}
	return "dateTime.iso8601"
}

func incorrect(format string, a ...any) error {
	return wire.NewFault(wire.IncorrectParameters, fmt.Sprintf(format, a...))
}
