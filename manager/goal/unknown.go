package goal

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
)

// Unknown holds the fields of an object that this version does not have, unchanged, for managers of other versions
// that do.
type Unknown map[string]json.RawMessage

// The same types without methods, to avoid infinite recursion.
type (
	documentFields Document
	holdFields     Hold
)

// UnmarshalJSON preserves unknown fields.
func (d *Document) UnmarshalJSON(text []byte) (err error) {
	var fields documentFields
	if fields.Unknown, err = decode(text, &fields); err == nil {
		*d = Document(fields)
	}
	return err
}

// MarshalJSON writes unknown fields back.
func (d Document) MarshalJSON() ([]byte, error) { return encode(documentFields(d), d.Unknown) }

// UnmarshalJSON preserves unknown fields.
func (h *Hold) UnmarshalJSON(text []byte) (err error) {
	var fields holdFields
	if fields.Unknown, err = decode(text, &fields); err == nil {
		*h = Hold(fields)
	}
	return err
}

// MarshalJSON writes unknown fields back.
func (h Hold) MarshalJSON() ([]byte, error) { return encode(holdFields(h), h.Unknown) }

// decode reads an object into a struct, and returns the fields that the struct does not have.
func decode[T any](text []byte, into *T) (Unknown, error) {
	if err := json.Unmarshal(text, into); err != nil {
		return nil, err
	}
	var all Unknown
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	for field := range reflect.TypeFor[T]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		maps.DeleteFunc(all, func(key string, _ json.RawMessage) bool { return strings.EqualFold(key, name) }) // as encoding/json does
	}
	if len(all) == 0 {
		return nil, nil
	}
	return all, nil
}

// encode writes a struct and additional fields.
func encode(fields any, more Unknown) ([]byte, error) {
	text, err := json.Marshal(fields)
	if err != nil || len(more) == 0 {
		return text, err
	}
	all := Unknown{}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	maps.Copy(all, more)
	return json.Marshal(all)
}
