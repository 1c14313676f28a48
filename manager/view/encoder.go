package view

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"hash"
	"sync"

	"github.com/toskose/toskose/manager/rest"
)

// Encoder caches the JSON of the application. With very many replicas, most are unchanged and are not encoded
// again: views are immutable, and a changed one is a new value.
type Encoder struct {
	mu    sync.Mutex
	of    *rest.Node // the first element of the encoded list
	last  *Encoded
	parts map[any]*part // by their first replica
}

// Encoded is JSON with a hash that identifies it among the results of its Encoder.
type Encoded struct {
	JSON []byte
	Sum  [sha256.Size]byte
}

// part is JSON of a node or a component, with its hash.
type part struct {
	data []byte
	sum  [sha256.Size]byte
}

// Encode returns the application as JSON.
func (e *Encoder) Encode(app rest.App) *Encoded {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(app.Nodes) > 0 && e.of == &app.Nodes[0] {
		return e.last
	}
	nodes, components, parts, sum := app.Nodes, app.Components, map[any]*part{}, sha256.New()
	app.Nodes, app.Components = nil, nil
	frame := append(marshal(app, ""), '\n')
	sum.Write(frame)
	var data bytes.Buffer
	suffix := beside(&data, frame, `"nodes"`)
	array(e.parts, parts, &data, sum, nodes, func(n *rest.Node) any { return first(n.Replicas) })
	suffix = beside(&data, suffix, `"components"`)
	array(e.parts, parts, &data, sum, components, func(c *rest.Component) any { return first(c.Replicas) })
	data.Write(suffix)
	made := &Encoded{data.Bytes(), [sha256.Size]byte(sum.Sum(nil))}
	if e.of, e.last, e.parts = nil, made, parts; len(nodes) > 0 {
		e.of = &nodes[0]
	}
	return made
}

// beside writes the text before the null of a key at the outermost level, and returns the text after it.
func beside(to *bytes.Buffer, frame []byte, key string) []byte {
	before, after, _ := bytes.Cut(frame, []byte("\n  "+key+": null"))
	to.Write(before)
	to.WriteString("\n  " + key + ": ")
	return after
}

// first identifies a list; nil for empty lists.
func first[T any](all []T) any {
	if len(all) == 0 {
		return nil
	}
	return &all[0]
}

// array writes a list at the outermost level. It uses the parts in known, encodes the others, and stores all of
// them in kept.
func array[T any](known, kept map[any]*part, to *bytes.Buffer, sum hash.Hash, all []T, key func(*T) any) {
	for i := range all {
		id := key(&all[i])
		p := known[id]
		if p == nil || id == nil {
			data := marshal(all[i], "    ")
			p = &part{data, sha256.Sum256(data)}
		}
		kept[id] = p
		sum.Write(p.sum[:])
		to.WriteString(map[bool]string{true: "[", false: ","}[i == 0] + "\n    ")
		to.Write(p.data)
	}
	if len(all) == 0 {
		to.WriteString("[]")
		return
	}
	to.WriteString("\n  ]")
}

// marshal encodes a value that can always be encoded as JSON.
func marshal(value any, prefix string) []byte {
	data, err := json.MarshalIndent(value, prefix, "  ")
	if err != nil {
		panic(err)
	}
	return data
}
